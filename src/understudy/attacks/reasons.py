"""Why a refit failed, in words that may be shared: its own may quote a person's values."""

import re

# an error of Python is known by its type; of our own errors only what stands before any value
KINDS = (
    (re.compile(r"([A-Za-z_]\w*(?:Error|Exception|Warning|Exit|Interrupt)|Exception)\b"), r"\1"),
    (
        re.compile(r"[^:;(']*\bdid not finish within (\S+) seconds"),
        r"did not finish within \1 seconds",
    ),
    (re.compile(r"[^:;(']*\bended with exit status (-?\d+)"), r"ended with exit status \1"),
    (re.compile(r"its process was lost \(exit status (-?\w+)\)"), r"ended with exit status \1"),
    (re.compile(r"[^:;(']*\bwrote no table\b"), "wrote no table"),
    (re.compile(r"[^:;(']*\bgave [\d,]+ rows, and"), "gave another number of rows"),
    (
        re.compile(r"[^:;(']*: the column .* is (missing|not in (the )?training)\b"),
        "gave other columns",
    ),
)
OTHER = "an error"


def shareable(error: str) -> str:
    """Say of what kind an error is, and nothing that it quotes.

    Examples
    --------
    >>> shareable("ValueError: cannot use 'Anna', 37")
    'ValueError'
    >>> shareable("maker.py ended with exit status 1; it said:;   Anna is 37")
    'ended with exit status 1'
    >>> shareable("Anna is 37")
    'an error'
    """
    for pattern, kind in KINDS:
        if found := pattern.match(error):
            return found.expand(kind)
    return OTHER
