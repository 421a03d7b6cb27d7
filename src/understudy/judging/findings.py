"""Finding: a number never travels alone. Card: what the number means and what it does not show."""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar, cast, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.schema import few, shortened
from understudy.data.tables import FrameKind, free_name, in_kind
from understudy.documents import check_form
from understudy.errors import NameNotFoundError, OptionError, near
from understudy.options import AtLeast, check

Shown = Annotated[int, AtLeast(0)]  # things that a measure shows
Status = Literal["ok", "failed", "not_applicable"]
Better = Literal["lower", "higher", "reference"]
Need = Literal["holdout", "keys", "sensitive", "target", "formula", "fit", "aligned"]

LEVEL = 0.95
Z = 1.959963984540054


@dataclass(frozen=True)
class Card:
    """The words beside a measure: they go to the console, the report and the documentation.

    Parameters
    ----------
    name : str
        The name in the contract, such as ``fidelity.hellinger``.
    title, meaning : str
        A short title, and one sentence on what the number says.
    formula : str
        How it is computed.
    unit : str
        ``fraction``, ``bits``, ``correlation`` or the unit in words.
    better : {"lower", "higher", "reference"}
        In which direction the number is good.
    headline : str
        Which of the numbers computed ``value`` is.
    source : str
        The paper, with section or equation.
    not_shown : str
        What nobody may conclude from it.
    threat : str
        For privacy: who attacks, knowing what, seeing what, counted against which control.
    opening : str
        How a sentence on the finding begins, such as "This copying detector reads".
    against : str
        How it speaks of the reference, where that is not what "fresh real rows get".
    needs : tuple of str
        What a comparison must have: ``holdout``, ``keys``, ``sensitive``, ``target``, ``formula``,
        ``fit``, ``aligned``.
    together : bool
        The measure looks at all replicates at once; otherwise each is measured and the findings
        are averaged.
    in_memory : bool
        The measure asks for rows, codes or points, so all rows must be in memory; otherwise
        counts, levels and nearest records are enough, which a database can give.
    """

    name: str
    title: str
    meaning: str
    formula: str
    unit: str
    better: Better
    headline: str
    source: str
    not_shown: str
    threat: str = ""
    opening: str = ""
    against: str = ""
    needs: tuple[str, ...] = ()
    together: bool = False
    in_memory: bool = True

    def __post_init__(self) -> None:
        if self.family in ("privacy", "attack") and not self.threat:
            raise ValueError(f"{self.name}: an attack states its threat model")
        words = {"better": (Better, (self.better,)), "needs": (Need, self.needs)}
        for field_name, (known, given) in words.items():
            for word in given:
                if word not in get_args(known):
                    expected = ", ".join(get_args(known))
                    raise ValueError(f"{self.name}: {field_name} '{word}' is none of {expected}")

    def __repr__(self) -> str:
        return f"Card({self.name}: {self.title}; {self.unit}, better: {self.better})"

    @property
    def family(self) -> str:
        """The part of the name before the dot."""
        return self.name.split(".", 1)[0]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**dataclasses.asdict(self), "needs": list(self.needs)}

    def finding(self, **fields: Any) -> "Finding":
        """Give a finding of the measure: its name, unit and direction are those of the card."""
        return Finding(self.name, unit=self.unit, better=self.better, **fields)

    def not_applicable(self, note: str) -> "Finding":
        """Give the finding that the measure cannot be applied, and why."""
        return self.finding(status="not_applicable", note=note)

    def failed(self, note: str) -> "Finding":
        """Give the finding that the measure failed, and why."""
        return self.finding(status="failed", note=note)


@dataclass(frozen=True, repr=False)
class TableOfNumbers:
    """Named columns and rows of plain values: what a picture needs, and what it hands over."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row of {len(row)} values under {len(self.columns)} columns")

    def __repr__(self) -> str:
        return f"TableOfNumbers({few(self.columns)}: {len(self.rows):,} rows)"

    def to_polars(self) -> pl.DataFrame:
        """Give the table as a frame; a name that comes twice is lengthened."""
        names: list[str] = []
        for name in self.columns:
            names.append(free_name(name, names))
        rows = [[plain(value) for value in row] for row in self.rows]
        return pl.DataFrame(
            rows, schema=names, orient="row", infer_schema_length=None, strict=False
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"columns": list(self.columns), "rows": [[plain(v) for v in r] for r in self.rows]}


@dataclass(frozen=True)
class Part:
    """One component of a finding: a column, a pair, a subgroup."""

    name: str
    value: float | None
    reference: float | None = None
    more: Mapping[str, float | None] = field(default_factory=dict)
    unit: str = ""
    interval: tuple[float, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values; further numbers stand beside ``value`` under their own names.

        A unit is given where it is not the finding's own.
        """
        return {
            "name": self.name,
            "value": plain(self.value),
            "reference": plain(self.reference),
            **({"unit": self.unit} if self.unit else {}),
            **({"interval": [plain(x) for x in self.interval]} if self.interval else {}),
            **{name: plain(number) for name, number in self.more.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Part":
        """Read a part back from its dict."""
        own = ("name", "value", "reference", "unit", "interval")
        rest = {name: number for name, number in data.items() if name not in own}
        ends = data.get("interval")
        return cls(
            data["name"],
            data["value"],
            data.get("reference"),
            rest,
            data.get("unit", ""),
            None if ends is None else (ends[0], ends[1]),
        )


@dataclass(frozen=True, repr=False)
class Finding:
    """What a measure says about a comparison.

    ``reference`` is what fresh real rows get. ``interval`` covers the value at ``level``;
    ``flagged`` means that the evidence puts the value on the bad side of the reference.
    ``calibration`` is the smallest leak that the measure would notice, where one was given.
    ``register`` lists single records, for the steward alone: it is never part of ``to_dict``.
    Nor are ``draws``: value less reference with the rows (or labels) drawn again, from streams that
    do not depend on the release, so that those of two releases are paired. ``frame_kind`` is the
    library of the frame that the caller gave, and that ``to_frame`` gives back.

    Examples
    --------
    >>> Finding("fidelity.hellinger", unit="fraction", better="lower", value=0.2,
    ...         interval=(0.18, 0.22), reference=0.1).flagged
    True
    """

    measure: str
    status: Status = "ok"
    unit: str = ""
    better: Better = "reference"
    value: float | None = None
    interval: tuple[float, float] | None = None
    level: float = LEVEL
    reference: float | None = None
    baselines: Mapping[str, float | None] = field(default_factory=dict)
    p_value: float | None = None
    flagged: bool | None = None
    parts: tuple[Part, ...] = ()
    tables: Mapping[str, TableOfNumbers] = field(default_factory=dict)
    note: str = ""
    calibration: Mapping[str, Any] | None = None
    register: pl.DataFrame | None = field(default=None, repr=False, compare=False)
    draws: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)
    frame_kind: FrameKind = field(default="polars", repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.status == "ok" and self.value is None:
            raise ValueError(f"{self.measure}: a finding that is ok has a value")
        if self.status != "ok" and not self.note:
            raise ValueError(f"{self.measure}: a finding that is not ok says why in its note")
        if self.status not in get_args(Status) or self.better not in get_args(Better):
            raise ValueError(f"{self.measure}: {self.status}, {self.better} better: unknown words")
        if self.interval is not None and len(self.interval) != 2:
            raise ValueError(f"{self.measure}: an interval has two ends")
        if self.interval is not None and not self.interval[0] <= self.interval[1]:
            raise ValueError(f"{self.measure}: interval {self.interval} is upside down")
        if self.flagged is None:
            object.__setattr__(self, "flagged", self._excludes_reference())

    def __repr__(self) -> str:
        said = [f"{self.status}: {shortened(self.note)}"]
        if self.status == "ok":
            ends = "" if self.interval is None else " [{:.4g}, {:.4g}]".format(*self.interval)
            known = "" if self.reference is None else f"reference {self.reference:.4g}"
            said = [f"{self.value:.4g}{ends}", known, "flagged" if self.flagged else ""]
            said += [f"{len(self.parts)} parts" if self.parts else ""]
            said += [f"tables: {few(self.tables)}" if self.tables else ""]
        return f"Finding({self.measure}: {', '.join(filter(None, said))})"

    def to_frame(self, which: str = "parts") -> Any:
        """Give the parts, or one of the tables by its name, in the caller's kind of frame."""
        if which != "parts" and which not in self.tables:
            raise NameNotFoundError(
                f"{self.measure} has no table '{which}'", hint=near(which, ["parts", *self.tables])
            )
        found = self._parts() if which == "parts" else self.tables[which].to_polars()
        return in_kind(found, self.frame_kind)

    def _parts(self) -> pl.DataFrame:
        more = dict.fromkeys(name for part in self.parts for name in part.more)
        rows = [
            {
                "part": part.name,
                "value": plain(part.value),
                **ends_of(part.interval),
                "reference": plain(part.reference),
                "unit": part.unit or self.unit,
                **{name: plain(part.more.get(name)) for name in more},
            }
            for part in self.parts
        ]
        numbers = dict.fromkeys(("value", "low", "high", "reference"), pl.Float64)
        schema = {"part": pl.String, **numbers, "unit": pl.String}
        return pl.DataFrame(rows, schema={**schema, **dict.fromkeys(more, pl.Float64)})

    def _excludes_reference(self) -> bool:
        if self.interval is None or self.reference is None:
            return False
        low, high = self.interval
        too_high, too_low = low > self.reference, high < self.reference
        return {"lower": too_high, "higher": too_low, "reference": too_high or too_low}[self.better]

    def to_dict(self) -> dict[str, Any]:
        """Give the finding as in version 1 of the JSON contract."""
        return {
            "measure": self.measure,
            "status": self.status,
            "unit": self.unit,
            "value": plain(self.value),
            "interval": None if self.interval is None else [plain(x) for x in self.interval],
            "level": self.level,
            "reference": plain(self.reference),
            "baselines": {name: plain(x) for name, x in self.baselines.items()},
            "better": self.better,
            "p_value": plain(self.p_value),
            "flagged": self.flagged,
            "parts": [part.to_dict() for part in self.parts],
            "tables": {name: table.to_dict() for name, table in self.tables.items()},
            "note": self.note,
            **({} if self.calibration is None else {"calibration": dict(self.calibration)}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Finding":
        """Read a finding back from its dict; keys of later versions are ignored."""
        check_form(data, FORM, str(data.get("measure")) if isinstance(data, dict) else "a finding")
        known = {name.rstrip("?") for name in FORM}
        values = {name: value for name, value in data.items() if name in known}
        if values.get("interval") is not None:
            values["interval"] = tuple(values["interval"])
        values["parts"] = tuple(Part.from_dict(part) for part in data.get("parts", []))
        values["tables"] = {
            name: TableOfNumbers(tuple(t["columns"]), tuple(tuple(r) for r in t["rows"]))
            for name, t in data.get("tables", {}).items()
        }
        return cls(**values)


NUMBER = (float, None)
INTERVAL = ([float], None)
FORM = {
    "measure": str,
    "status?": str,
    "unit?": str,
    "better?": str,
    "value?": NUMBER,
    "interval?": INTERVAL,
    "level?": float,
    "reference?": NUMBER,
    "baselines?": {str: NUMBER},
    "p_value?": NUMBER,
    "flagged?": (bool, None),
    "parts?": [{"name": str, "value": NUMBER, "unit?": str, "interval?": INTERVAL, str: NUMBER}],
    "tables?": {str: {"columns": [str], "rows": [list]}},
    "note?": str,
    "calibration?": ({}, None),
}


def plain(value: Any) -> Any:
    """Turn a numpy scalar into a Python one, and what JSON cannot hold (nan, infinities) into None.

    Examples
    --------
    >>> plain(np.float64(0.5)), plain(float("nan")), plain("a")
    (0.5, None, 'a')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def ends_of(interval: tuple[float, float] | None) -> dict[str, float | None]:
    """Give the ends of an interval as the columns of a frame."""
    low, high = interval or (None, None)
    return {"low": plain(low), "high": plain(high)}


F = TypeVar("F", bound=Callable[..., Any])


def described(card: Card) -> Callable[[F], F]:
    """Put a card on a measure or an attack: ``@described(Card(...))`` above the function.

    Its options are checked by its signature, whoever calls it.
    """

    def attach(function: F) -> F:
        @functools.wraps(function)
        def checked(*given: Any, **options: Any) -> Any:
            check(card.name, function, options)
            return function(*given, **options)

        checked.card = card  # type: ignore[attr-defined]
        return cast(F, checked)

    return attach


def around(value: float, spread: float, low: float, high: float) -> tuple[float, float]:
    """Give the normal interval of a value with this standard deviation, cut to what is possible.

    There must be a standard deviation: two redraws at least.

    Examples
    --------
    >>> around(0.5, 0.1, 0.0, 0.6)
    (0.304..., 0.6)
    """
    if not math.isfinite(spread):
        raise OptionError("too few redraws for an interval", hint="use at least 2")
    return max(low, value - Z * spread), min(high, value + Z * spread)


def wilson(hits: int, trials: int) -> tuple[float, float]:
    """Give the score interval of a share; sensible at 0 and at ``trials`` hits.

    Examples
    --------
    >>> low, high = wilson(0, 100)
    >>> low, round(high, 4)
    (0.0, 0.037)
    """
    if trials == 0:
        return 0.0, 1.0
    share, z2 = hits / trials, Z * Z
    middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = Z / (1 + z2 / trials) * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials**2))
    low = 0.0 if hits == 0 else middle - half
    high = 1.0 if hits == trials else middle + half
    return low, high


def box(values: Sequence[float] | NDArray[np.float64]) -> tuple[float, ...]:
    """Give the five numbers of a box plot: smallest, quartiles, largest.

    Examples
    --------
    >>> box([1, 2, 3, 4, 5])
    (1.0, 2.0, 3.0, 4.0, 5.0)
    """
    return tuple(float(q) for q in np.quantile(np.asarray(values, float), [0, 0.25, 0.5, 0.75, 1]))
