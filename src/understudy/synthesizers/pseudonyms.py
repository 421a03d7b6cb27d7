"""Identifiers and names, made anew: no real one is copied.

``Identifier``: values in the column's own form, counted, and so at times those of real rows. Whole
numbers count from 1, those of one length from the first of that length. Texts count too, in the
form that the real ones have: where all of the most common length have one and the same character
(``CUST-``), it stays; elsewhere a digit stands for a digit and a letter for a letter. A form that
fewer than five rows share is not followed. Texts that are names rather than codes become
``firm-001``.

``Pseudonyms``: a column of names, which may repeat, becomes ``team-001``, ``team-002`` … What is
learnt is how often names repeat, in two numbers: the discount and the strength of the partition of
Pitman and Yor (1997), by maximum likelihood, rounded to two digits. So no count of a real name is
kept. A discount below 0 stands for a fixed number of names about equally frequent, one above 0 for
few frequent and many rare ones. Where a name determines other columns (every player has one team),
rows that share a pseudonym have those columns in common: pseudonyms are given out within the values
of these columns.
"""

import math
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.codec import level_ranks
from understudy.data.schema import Column, Schema, labels
from understudy.data.tables import Table
from understudy.synthesizers.model_file import Damaged, texts, whole

FEWEST_ALIKE = 5
LONGEST = 1_000  # characters of a form
LONGEST_NUMBER = 18  # digits
MOST_ROWS = 100_000
MOSTLY = 0.8
ALPHABETS = (
    string.digits,
    string.ascii_lowercase,
    string.ascii_uppercase,
    string.digits + "abcdef",
    string.digits + "ABCDEF",
    string.digits + string.ascii_lowercase,
    string.digits + string.ascii_uppercase,
    string.ascii_letters,
    string.digits + string.ascii_letters,
)
PLAIN = (string.digits,)
MOST_SEATED = 100_000  # rows of a group
ENOUGH_REPEATS = 20
ENOUGH_EVIDENCE = 30.0  # nats
LONGEST_STEM = 20
DISCOUNTS = (-100.0, -10.0, -3.0, -1.0, -0.3, -0.1, *(i / 10 for i in range(10)))
STRENGTHS = np.geomspace(0.01, 1e6, 120)

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Identifier:
    """A column that counts.

    Parameters
    ----------
    name : str
    stored : {"integer", "float", "text"}
    form : tuple of str
        For a text, the characters that each place can have; one character alone stays as it is.
    after : int
        For a number, what it counts on from.

    Examples
    --------
    >>> made = Identifier("id", "text", ("A", "-", "0123456789", "0123456789"))
    >>> made.values(8, 11, 11).to_list()
    ['A-09', 'A-10', 'A-11']
    """

    name: str
    stored: str
    form: tuple[str, ...] = ()
    after: int = 0

    @classmethod
    def fit(cls, series: pl.Series | None, column: Column) -> Self:
        """Find the form of a column; where it is not read, plain numbers."""
        if column.stored != "text":
            return cls(column.name, column.stored, after=0 if series is None else _after(series))
        if series is None:
            return cls(column.name, "text", PLAIN)
        texts = labels(series).drop_nulls().head(MOST_ROWS)
        return cls(
            column.name, "text", _form(texts) if _are_code_like(texts) else _named(column.name)
        )

    def values(self, start: int, stop: int, total: int) -> pl.Series:
        """Give the values after the first ``start``, up to ``stop``, of ``total`` in all."""
        numbers = np.arange(start + 1, stop + 1)
        if self.stored != "text":
            made = pl.Series(self.name, self.after + numbers, dtype=pl.Int64)
            return made.cast(pl.Float64) if self.stored == "float" else made
        return pl.Series(self.name, _written(numbers, _wide(self.form, total)), dtype=pl.String)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**vars(self), "form": list(self.form)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], schema: Schema) -> Self:
        """Take plain values; refuse a column that is none, and a form that cannot count."""
        after = whole(plain.get("after", 0), 0, 10**LONGEST_NUMBER)
        made = cls(plain["name"], plain["stored"], texts(plain["form"]), after)
        if made.name not in schema.names or not isinstance(made.stored, str):
            raise Damaged("an identifier is no column")
        if made.stored == "text" and not _counts(made.form):
            raise Damaged("an identifier has a form that does not count")
        return made


def _written(numbers: Any, form: tuple[str, ...]) -> pl.Series:
    """Write numbers with the characters of a form, the last place counting fastest."""
    columns, rest = [], numbers
    for signs in reversed(form):
        columns.append(pl.Series(list(signs)).gather(rest % len(signs)))
        rest = rest // len(signs)
    frame = pl.DataFrame([column.alias(str(i)) for i, column in enumerate(columns[::-1])])
    return frame.select(pl.concat_str(pl.all())).to_series()


def _counts(form: tuple[str, ...]) -> bool:
    return any(len(signs) > 1 for signs in form) and all(form) and len(form) <= LONGEST


def _wide(form: tuple[str, ...], total: int) -> tuple[str, ...]:
    """Lengthen a form until it has enough values."""
    first = next(place for place, signs in enumerate(form) if len(signs) > 1)
    while math.prod(map(len, form)) <= total:
        form = (*form[:first], form[first], *form[first:])
    return form


def _after(series: pl.Series) -> int:
    """Give what whole numbers of one length count on from: of four digits, 1000."""
    numbers = series.drop_nulls().head(MOST_ROWS)
    if numbers.dtype.is_float():
        numbers = numbers.filter(numbers.is_finite()).cast(pl.Int64, strict=False)
    lengths = numbers.cast(pl.String).str.len_chars().unique()
    if len(numbers) < FEWEST_ALIKE or len(lengths) > 1 or not numbers.dtype.is_integer():
        return 0
    length = int(lengths[0])
    alike = int(numbers.min()) > 0 and 1 < length < LONGEST_NUMBER  # type: ignore[arg-type]
    return 10 ** (length - 1) if alike else 0


def _are_code_like(texts: pl.Series) -> bool:
    """Tell codes from names: most have no space, and digits or one length."""
    if texts.len() < FEWEST_ALIKE:
        return True
    single = texts.filter(~texts.str.contains(r"\s"))
    lengths = single.str.len_chars().alias("length").value_counts()["count"].to_list()
    digits = int(single.str.contains(r"\d").sum())
    return bool(max([digits, *lengths]) >= MOSTLY * texts.len())


def _named(name: str) -> tuple[str, ...]:
    return (*f"{stem_of(name)}-", *[string.digits] * 3)


def _form(known: pl.Series) -> tuple[str, ...]:
    """Give the characters of each place, among the texts of the most common length."""
    lengths = known.str.len_chars()
    counted = lengths.alias("length").value_counts()
    commonest = counted.sort("count", "length", descending=[True, False]).head(1).rows()
    length, many = commonest[0] if commonest else (0, 0)
    if many < FEWEST_ALIKE or not 0 < length <= LONGEST:
        return PLAIN
    alike = known.filter(lengths == length).to_list()
    form = tuple(_signs(set(place)) for place in zip(*alike, strict=True))
    return form if any(len(signs) > 1 for signs in form) else PLAIN


def _signs(seen: set[str]) -> str:
    if len(seen) == 1 and not seen & set(string.digits):
        return next(iter(seen))
    fits = (alphabet for alphabet in ALPHABETS if seen <= set(alphabet))
    return next(fits, ALPHABETS[5])


@dataclass
class Seated:
    """The pseudonyms that the rows of one table have so far.

    ``rows`` holds, for each group, the number of the pseudonym of each row; ``names`` the numbers
    of a group; ``counts`` the rows of each number.
    """

    rows: dict[tuple[Any, ...], list[int]] = field(default_factory=dict)
    names: dict[tuple[Any, ...], list[int]] = field(default_factory=dict)
    counts: list[int] = field(default_factory=lambda: [0])

    def new(self) -> int:
        """Give the next number."""
        self.counts.append(0)
        return len(self.counts) - 1


@dataclass(frozen=True)
class Pseudonyms:
    """A column of names, and how often a name repeats.

    Parameters
    ----------
    name : str
        The column; its pseudonyms begin with it.
    discount, strength : float, optional
        How often names repeat; none: every row has a name of its own.
    missing : float
        The share of rows without a name.
    within : tuple of str
        The columns that a name determines.
    form : tuple of str
        The form of names that are codes, as of an ``Identifier``; none: ``team-001``.

    Examples
    --------
    >>> made = Pseudonyms("team", discount=-100.0, strength=300.0)
    >>> rows = pl.DataFrame({"x": range(4)})
    >>> made.values(rows, 4, np.random.default_rng(1), Seated()).to_list()
    ['team-001', 'team-002', 'team-002', 'team-003']
    """

    name: str
    discount: float | None = None
    strength: float | None = None
    missing: float = 0.0
    within: tuple[str, ...] = ()
    form: tuple[str, ...] = ()

    @classmethod
    def fit(cls, table: Table, name: str) -> Self:
        """Learn how often the names of a column repeat, and which columns they determine."""
        names = labels(table.frame[name])
        known = names.is_not_null()
        gone = names.null_count()
        share = round(gone / max(len(names), 1), 2) if gone >= FEWEST_ALIKE else 0.0
        within = determined(names, table)
        rows = pl.DataFrame({"name": names}).hstack(table.plain.select(within)).filter(known)
        counted = rows.group_by([*within, "name"]).len()
        groups = counted.group_by(within) if within else [((), counted)]
        sizes = [own["len"].to_numpy().astype(np.int64) for _, own in groups]
        if sum(int(own.sum()) for own in sizes) < FEWEST_ALIKE:
            return cls(name, missing=share)
        known = names.drop_nulls().head(MOST_ROWS)
        form = _form(known) if _are_code_like(known) else ()
        return cls(name, *_fitted(sizes), share, tuple(within), form)

    def values(
        self, frame: pl.DataFrame, total: int, rng: np.random.Generator, seated: Seated
    ) -> pl.Series:
        """Give a pseudonym to each of ``total`` rows; ``seated`` knows those before, and grows."""
        gone = rng.random(frame.height) < self.missing
        numbers = [
            None if missing else self._number(key, rng, seated)
            for key, missing in zip(self._keys(frame), gone.tolist(), strict=True)
        ]
        known = pl.Series(self.name, numbers, dtype=pl.Int64)
        if self.form:
            form = _wide(self.form, total)
            texts = _written(known.fill_null(0).to_numpy(), form).set(known.is_null(), None)
            return texts.alias(self.name)
        return (f"{stem_of(self.name)}-" + known.cast(pl.String).str.zfill(3)).alias(self.name)

    def _number(self, key: tuple[Any, ...], rng: np.random.Generator, seated: Seated) -> int:
        """Give a row the name of a row before it in its group, or a new one.

        A name of n rows has weight n less the discount, a new one the strength and the discount
        times the number of names.
        """
        if self.strength is None or self.discount is None:
            return seated.new()
        before, names = seated.rows.setdefault(key, []), seated.names.setdefault(key, [])
        many = len(before)
        if many >= MOST_SEATED:  # enough to know the shares by
            return before[int(rng.integers(many))]
        opens = max(self.strength + self.discount * len(names), 0.0)
        if rng.random() * (self.strength + many) < opens or not many:
            number = seated.new()
            names.append(number)
        else:
            number = self._known(before, names, rng, seated)
        before.append(number)
        seated.counts[number] += 1
        return number

    def _known(
        self, before: list[int], names: list[int], rng: np.random.Generator, seated: Seated
    ) -> int:
        """Draw a name by its rows less the discount."""
        assert self.discount is not None
        extra = -self.discount * len(names)
        if extra > 0 and rng.random() * (len(before) + extra) < extra:
            return names[int(rng.integers(len(names)))]
        while True:
            number = before[int(rng.integers(len(before)))]
            if self.discount <= 0 or rng.random() * seated.counts[number] >= self.discount:
                return number

    def _keys(self, frame: pl.DataFrame) -> Sequence[tuple[Any, ...]]:
        if not self.within:
            return [()] * frame.height
        return frame.select(labels(frame[name]).alias(name) for name in self.within).rows()

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**vars(self), "within": list(self.within), "form": list(self.form)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], schema: Schema) -> Self:
        """Take plain values; refuse a column that is none, and numbers that make no partition."""
        lists = {key: texts(plain[key]) for key in ("within", "form")}
        made = cls(**{**plain, **lists})
        if made.name not in schema.names or not set(made.within) <= set(schema.modelled):
            raise Damaged("a column of names is no column, or determines what is none")
        if made.form and not _counts(made.form):
            raise Damaged("names have a form that does not count")
        if (made.strength is None) != (made.discount is None):
            raise Damaged("names have a discount or a strength, but not both")
        numbers = [made.missing, made.strength or 0.0, made.discount or 0.0]
        plain_numbers = all(isinstance(x, int | float) and math.isfinite(x) for x in numbers)
        if not plain_numbers or not 0 <= made.missing <= 1 or (made.discount or 0) >= 1:
            raise Damaged("names repeat in a way that there is not")
        if made.strength is not None and made.strength + min(made.discount or 0.0, 0.0) < 0:
            raise Damaged("names repeat in a way that there is not")
        return made


def stem_of(name: str) -> str:
    """Give the beginning of the pseudonyms of a column.

    Examples
    --------
    >>> stem_of("Team"), stem_of("Country Name"), stem_of("42")
    ('team', 'country-name', 'name')
    """
    plain = re.sub(r"[^\w]+|_+", "-", name.lower()).strip("-")[:LONGEST_STEM].strip("-")
    return plain if re.search(r"[^\W\d]", plain) else "name"


def determined(names: pl.Series, table: Table) -> list[str]:
    """Find the columns of which every name that repeats has one value, not by chance."""
    known = names.is_not_null()
    rows = table.plain.with_row_index("row").filter(known).drop("row")
    place = pl.Series(level_ranks(names.filter(known)))
    repeats = len(place) - place.n_unique()
    if repeats < ENOUGH_REPEATS:
        return []
    found = []
    for series in rows:
        own = pl.Series(level_ranks(series))
        pairs = pl.DataFrame({"name": place, "own": own}).n_unique()
        if pairs > place.n_unique():
            continue
        shares = own.alias("value").value_counts()["count"].to_numpy() / len(own)
        if -repeats * math.log(float((shares**2).sum())) >= ENOUGH_EVIDENCE:
            found.append(series.name)
    return found


def _fitted(sizes: list[Counts]) -> tuple[float, float]:
    """Fit the partition: how many rows the names of each group have."""
    from scipy.special import gammaln

    rows = np.array([own.sum() for own in sizes], float)
    names = np.array([len(own) for own in sizes], float)
    count, times = np.unique(np.concatenate(sizes), return_counts=True)
    best, most = (0.0, 1.0), -math.inf
    for discount in DISCOUNTS:
        seats = float((times * (gammaln(count - discount) - gammaln(1 - discount))).sum())
        if discount < 0:  # as many names as there are, or more
            strengths = -discount * names.max() * np.unique(np.geomspace(1, 1e3, 100).round(3))
        else:
            strengths = STRENGTHS
        s = strengths[:, None]
        if discount > 0:
            ratio = s / discount
            opened = (names - 1) * math.log(discount) + gammaln(ratio + names) - gammaln(ratio + 1)
        elif discount == 0:
            opened = (names - 1) * np.log(s)
        else:
            ratio = s / -discount
            opened = (names - 1) * math.log(-discount) + gammaln(ratio) - gammaln(ratio - names + 1)
        total = (opened - gammaln(s + rows) + gammaln(s + 1)).sum(axis=1) + seats
        place = int(np.nanargmax(total))
        if total[place] > most:
            best, most = (discount, float(strengths[place])), float(total[place])
    discount, strength = best
    if discount < 0:  # a whole number of names
        return discount, -discount * float(f"{strength / -discount:.1e}")
    return discount, float(f"{strength:.1e}")
