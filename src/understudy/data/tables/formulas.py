"""Text that a spreadsheet would take for a formula, made harmless."""

import polars as pl

FORMULA = r"^[=+\-@\t\r]"
NUMBER = r"^[+\-]?\d+(\.\d+)?([eE][+\-]?\d+)?$"


def without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before text that a spreadsheet would run; numbers stay as they are.

    For lists that people open, such as a register; never for data.

    Examples
    --------
    >>> without_formulas(pl.DataFrame({"a": ["=cmd()", "-3", "b"]}))["a"].to_list()
    ["'=cmd()", '-3', 'b']
    """
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    made = frame.with_columns(
        pl.when(pl.col(name).str.contains(FORMULA) & ~pl.col(name).str.contains(NUMBER))
        .then(pl.lit("'") + pl.col(name))
        .otherwise(pl.col(name))
        .alias(name)
        for name in texts
    )
    return made
