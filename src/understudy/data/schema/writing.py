"""Numbers as people write them: ``$1,234.00``, ``1.234,50 €``, ``12,5 %``, ``(1 234)``.

How a column writes its numbers is one *picture*, the number 1234 or so in that writing. In it a
thousands separator or none stands behind the 1; zeros behind the decimal sign are digits that are
always written, a 5 stands for as many as the number has; in brackets, negative numbers have them.

>>> NumberFormat.parse("$1,234.00").read(pl.Series(["$1,250.00", "-$3.50", "free"])).to_list()
[1250.0, -3.5, None]
>>> NumberFormat.parse("1.234,5 %").write(pl.Series([1250.0, -0.25, None])).to_list()
['1.250 %', '-0,25 %', None]
"""

import functools
import re
from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl

SPACES = " \u00a0\u202f"
GROUPS = (",", ".", "'", "’", *SPACES)
MINUS = "−-"  # the hyphen last: it makes no range between brackets
SIGNS = (
    r"(?:US|CA|AU|NZ|HK|A|C|R)?\$|[€£¥₹₩₽₺₴₪฿₫₦₱]|zł|kr\.?|Kč|Ft|lei|Fr\.?|%|‰|"
    "USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|RON|TRY|BRL|MXN|ZAR|KRW|SGD|HKD"
)
AFFIX = rf"(?:{SIGNS})"
PICTURE = re.compile(
    rf"(?P<open>\(?)(?P<before>(?:{AFFIX}[{SPACES}]?)?)1(?P<group>[{''.join(GROUPS)}]?)234"
    rf"(?:(?P<point>[.,])(?P<digits>0+|5))?(?P<after>(?:[{SPACES}]?{AFFIX})?)(?P<close>\)?)"
)
ANY_NUMBER = (
    rf"^\s*(?P<open>\(?)\s*[+{MINUS}]?\s*(?P<before>(?:{AFFIX}[{SPACES}]?)?)\s*[+{MINUS}]?"
    rf"(?P<body>[.,]?\d(?:[\d.,'’{SPACES}]*\d)?)(?P<after>(?:[{SPACES}]?{AFFIX})?)\s*\)?\s*$"
)
HINT = "write the number 1234 as the column would: $1,234.00; 1.234,5 (5: any number of digits)"
TELEPHONE = 7  # digits


@dataclass(frozen=True)
class NumberFormat:
    """How numbers are written.

    Parameters
    ----------
    before, after : str
        What stands at the ends, with its space: ``$``, `` %``.
    group, point : str
        The separator of thousands, if any, and the decimal sign.
    digits : int, optional
        How many digits stand behind the decimal sign; none: as many as the number has.
    brackets : bool
        Whether a negative number stands in brackets, without a minus.
    """

    before: str = ""
    after: str = ""
    group: str = ""
    point: str = "."
    digits: int | None = None
    brackets: bool = False

    @classmethod
    def parse(cls, picture: str) -> Self:
        """Read a picture; a ValueError says what is none."""
        found = PICTURE.fullmatch(picture)
        if found is None or (found["open"] == "(") != (found["close"] == ")"):
            raise ValueError(f"format = '{picture}' is no picture of a number; {HINT}")
        group, point = found["group"], found["point"] or ("," if found["group"] == "." else ".")
        if group == point:
            raise ValueError(f"format = '{picture}': one sign for thousands and decimals; {HINT}")
        zeros = found["digits"] or ""
        digits = None if zeros == "5" else len(zeros)
        return cls(found["before"], found["after"], group, point, digits, bool(found["open"]))

    def __str__(self) -> str:
        """Give the picture."""
        decimals = "5" if self.digits is None else "0" * self.digits
        body = f"1{self.group}234{self.point if decimals else ''}{decimals}"
        made = f"{self.before}{body}{self.after}"
        return f"({made})" if self.brackets else made

    @functools.cached_property
    def _pattern(self) -> str:
        group = f"[{re.escape(_alike(self.group))}]"
        grouped = rf"[1-9]\d{{0,2}}(?:{group}\d{{3}})+|" if self.group else ""
        whole = rf"(?:{grouped}\d+)"
        broken = rf"{re.escape(self.point)}\d+"
        before, after = (re.escape(text.strip()) for text in (self.before, self.after))
        first, last = (r"\(?", r"\)?") if self.brackets else ("", "")
        return (
            rf"^\s*(?P<open>{first})\s*(?P<sign>[+{MINUS}]?)\s*{before}\s*(?P<inner>[+{MINUS}]?)"
            rf"(?P<body>{whole}(?:{broken})?|{broken})\s*{after}\s*(?P<close>{last})\s*$"
        )

    def read(self, texts: pl.Series) -> pl.Series:
        """Read texts as floats; what is neither in this writing nor a plain number is missing."""
        said = texts.str.extract_groups(self._pattern).struct
        body = said.field("body")
        for sign in _alike(self.group):
            body = body.str.replace_all(sign, "", literal=True)
        made = body.str.replace(self.point, ".", literal=True).cast(pl.Float64, strict=False)
        negative = (said.field("open") == "(") | (
            said.field("sign").is_in(list(MINUS)) != said.field("inner").is_in(list(MINUS))
        )
        whole = (said.field("open") == "(") == (said.field("close") == ")")
        signed = pl.when(negative).then(-made).otherwise(made)
        made = pl.select(pl.when(whole).then(signed)).to_series()
        plain = texts.str.strip_chars().cast(pl.Float64, strict=False).fill_nan(None)
        return pl.select(pl.coalesce(made, plain)).to_series().alias(texts.name)

    def write(self, numbers: pl.Series) -> pl.Series:
        """Write floats; a missing one stays missing."""
        different = numbers.unique().drop_nulls()
        texts = pl.Series([self._text(x) for x in different.to_list()], dtype=pl.String)
        made = numbers.replace_strict(different, texts, default=None, return_dtype=pl.String)
        return made.alias(numbers.name)

    def _text(self, number: float) -> str:
        if self.digits is None:
            body = np.format_float_positional(abs(number), trim="-")
        else:
            body = f"{abs(number):.{self.digits}f}"
        whole, _, broken = body.partition(".")
        if self.group:
            whole = f"{int(whole):,}".replace(",", self.group)
        text = f"{self.before}{whole}{self.point if broken else ''}{broken}{self.after}"
        if number >= 0 or not body.strip("0."):
            return text
        return f"({text})" if self.brackets else f"-{text}"


def guess_format(values: pl.Series) -> NumberFormat | None:
    """Find the writing of different texts that look like numbers; none if it is the plain one.

    What stands at the ends is what most of them have there. Of the separators, those decide that
    most of the numbers can be written with; ``1,234`` alone is a thousand, ``1.234`` alone is not.
    Grouped digits that are all equally long, as those of telephones, are no numbers.
    """
    different = values.unique(maintain_order=True)
    said = different.str.extract_groups(ANY_NUMBER).struct.unnest().drop_nulls("body")
    if said.is_empty():
        return None
    ends = said.group_by("before", "after").len().sort("len", "before", "after", descending=True)
    before, after, _ = ends.row(0)
    own = said.filter((pl.col("before") == before) & (pl.col("after") == after))
    bodies = own["body"]
    best, most = NumberFormat(before, after), -1
    for group in ("", *GROUPS[: -len(SPACES) + 1]):  # one space stands for all
        for point in (".", ","):
            made = NumberFormat(group=group, point=point)
            fits = 0 if group == point else int(bodies.str.contains(made._pattern).sum())
            if fits > most or (fits == most and (group, point) == (",", ".")):
                best, most = NumberFormat(before, after, group, point), fits
    inner = NumberFormat(group=best.group, point=best.point)
    fitting = bodies.filter(bodies.str.contains(inner._pattern))
    broken = fitting.str.extract(rf"{re.escape(best.point)}(\d+)$")
    lengths = broken.drop_nulls().str.len_chars().unique()
    held = {
        sign: int(fitting.str.contains(sign, literal=True).sum()) for sign in _alike(best.group)
    }
    group = max(held, key=held.__getitem__, default="")
    grouped = bool(group) and held[group] > 0
    brackets = bool((own["open"] == "(").any())
    bare = not (before or after)
    if bare and not grouped and not brackets and best.point == ".":
        return None
    signs = fitting.str.count_matches(r"\d")
    if bare and not len(lengths) and signs.n_unique() == 1 and signs[0] >= TELEPHONE:
        return None
    digits: int | None = None
    if len(lengths) == 1 and (not broken.null_count() or broken.str.ends_with("0").any()):
        digits = int(lengths[0])
    elif not len(lengths):
        digits = 0
    return NumberFormat(before, after, group if grouped else "", best.point, digits, brackets)


def _alike(group: str) -> str:
    """Give the signs that are read as this separator."""
    return SPACES if group and group in SPACES else group
