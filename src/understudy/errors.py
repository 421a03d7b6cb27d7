"""One root error. Every message says what was found and ends with a hint on what to do."""

from collections.abc import Iterable

CLOSE = 0.65  # one letter of three is another
MOST_NAMES_LISTED = 12


class UnderstudyError(Exception):
    r"""Anything that a caller can put right.

    Parameters
    ----------
    message : str
        What was found, in one sentence that names the file, the column or the option.
    hint : str
        What to do about it.

    Examples
    --------
    >>> str(UnderstudyError("column 'age' is missing", hint="check the spelling"))
    "column 'age' is missing\nhint: check the spelling"
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


class DataError(UnderstudyError):
    """A table that cannot be read or does not fit the others."""


class SchemaError(UnderstudyError):
    """A schema that contradicts itself or the table."""


class OptionError(UnderstudyError):
    """A measure, a method or an option that does not exist or has an impossible value."""


class NameNotFoundError(OptionError, KeyError):
    """A name that nothing here has: of a measure, a candidate or a table."""


class ColumnNotFoundError(SchemaError, KeyError):
    """A column that a schema does not have."""


class MissingExtraError(UnderstudyError):
    """An optional library is not installed."""


def near(name: object, names: Iterable[str]) -> str:
    """Give a hint for a name that does not exist, whatever was given for one.

    Examples
    --------
    >>> near("agee", ["age", "sex"]), near(3, ["age", "sex"])
    ("did you mean 'age'?", 'there are: age, sex')
    >>> near("age, sex", ["age", "sex"])
    'give a list: ["age", "sex"]'
    """
    import difflib
    import json

    names, text = list(names), str(name)
    several = [part.strip() for part in text.split(",")]
    if len(several) > 1 and set(several) <= set(names):
        return f"give a list: {json.dumps(several, ensure_ascii=False)}"
    folded = {known.casefold(): known for known in names}
    close = difflib.get_close_matches(text.casefold(), folded, n=1, cutoff=CLOSE)
    if close:
        return f"did you mean '{folded[close[0]]}'?"
    listed = ", ".join(names[:MOST_NAMES_LISTED]) + (" …" if len(names) > MOST_NAMES_LISTED else "")
    return f"there are: {listed}" if names else "there is none at all"


class LeftOutWarning(UserWarning):
    """Columns that were taken for identifiers, names or free text, and so were not looked at."""


def interruption(error: BaseException | None) -> KeyboardInterrupt | None:
    """Give the Ctrl-C that an error came of, if one did."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error


def interrupted(error: BaseException | None) -> bool:
    """Whether an error is a Ctrl-C: compiled code hands one on as the cause of a SystemError.

    Examples
    --------
    >>> error = SystemError("a result with an exception set")
    >>> error.__cause__ = KeyboardInterrupt()
    >>> interrupted(error), interrupted(SystemError("another"))
    (True, False)
    """
    return interruption(error) is not None
