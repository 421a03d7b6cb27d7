"""Match persons an intruder looks for with aligned records: true and false matches."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from understudy.data.source import Source
from understudy.data.tables import Condition
from understudy.errors import DataError, OptionError, near
from understudy.judging.comparison import Comparison
from understudy.judging.findings import Card, Finding, Part, described, wilson
from understudy.judging.judge import Judgement
from understudy.judging.register import enough, register
from understudy.measures.privacy.coding import Flags, Floats, Ints, Places

CARD = Card(
    name="privacy.match_rate",
    title="True match rate",
    meaning="The share of the persons an intruder looks for who are found: one record fits best "
    "over all replicates, and it is theirs.",
    formula="in each replicate the records that meet the condition and agree with a target in the "
    "keys (numbers within a tolerance) share a probability of 1; over replicates it is averaged. A "
    "match is a single largest mean. True match rate: true matches / targets; false match rate: "
    "false matches / matches; expected match risk: mean over targets of 1 / number of largest, if "
    "the target's own record is among them. Baseline original: the same with training released; "
    "naive: the matches found, had their records been anybody's",
    unit="fraction",
    better="lower",
    headline="true match rate",
    source="Reiter and Mitra 2009; Drechsler and Reiter 2008; Dandekar et al. 2019, equation 2",
    not_shown="The intruder is sure that the target is in the data and knows the keys without "
    "error; one who is less sure finds fewer. Where the keys were not replaced, the rate is that "
    "of the original. What is learnt without finding the record does not show.",
    threat="Someone knows the keys of persons in the training data, and that they meet the "
    "condition, and looks for their records in all replicates together. The interval is that of "
    "persons like these; holdout persons have no record to be found, so they are no control: the "
    "false match rate says how far a match can be trusted.",
    opening="This matching attack reads",
    needs=("aligned", "keys"),
    together=True,
)


@described(CARD)
def match_rate(comparison: Comparison, *, where: str = "", tolerance: str = "") -> Finding:
    """Share of targets for whom a single record fits best and is theirs.

    ``where`` selects the targets (``income > 250000``), and the records among which they are
    looked for; everybody if not given. ``tolerance`` says how far numbers may be apart, such as
    ``age=2, income=10%``; others must be equal.
    """
    for number, source in enumerate(comparison.synthetic, start=1):
        if source.height != comparison.train.height:
            raise DataError(
                f"replicate {number} has {source.height:,} rows, training has "
                f"{comparison.train.height:,}: they cannot be aligned",
                hint="leave --aligned out, or give the table that was made row by row",
            )
    condition = Condition.parse(where) if where else None
    slack = _tolerances(comparison, tolerance)
    targets = np.flatnonzero(_meets(comparison.train, condition))
    if not len(targets):
        return CARD.not_applicable("No training record meets the condition: there are no targets.")
    if not enough(len(targets)):
        return CARD.not_applicable(
            "Fewer than five training records meet the condition: a rate would tell about single "
            "persons."
        )
    played = _play(comparison, comparison.synthetic, condition, slack, targets)
    before = _play(comparison, (comparison.train,), condition, slack, targets)
    matches, true = int(played.unique.sum()), int(played.true.sum())
    rate, false = true / len(targets), None if not matches else (matches - true) / matches
    # whose record it is, had it been drawn from all that an intruder may find
    may_be = np.logical_or.reduce([_meets(release, condition) for release in comparison.synthetic])
    baselines = {
        "original": float(before.true.mean()),
        "naive": matches / len(targets) / max(int(may_be.sum()), 1),
    }
    judged = Judgement(
        ("true match rate",), np.array([rate]), (wilson(true, len(targets)),), [baselines], 0
    )
    return judged.finding(
        CARD,
        parts=(
            Part("true match rate", rate),
            Part("false match rate", false),
            Part("expected match risk", float(played.risk.mean())),
            Part("targets with a match", matches / len(targets)),
            Part("targets that no record fits", float((played.ties == 0).mean())),
        ),
        notes=[_words(comparison, condition, played, false)],
        register=_register(played, targets, comparison),
    )


@dataclass(frozen=True)
class _Played:
    """For each target: how many records fit best, how well, and whether its own is among them."""

    ties: Ints
    weight: Floats
    among: Flags

    @property
    def unique(self) -> Flags:
        return np.equal(self.ties, 1)

    @property
    def true(self) -> Flags:
        return self.unique & self.among

    @property
    def risk(self) -> Floats:
        return np.where(self.among, 1 / np.maximum(self.ties, 1), 0.0)


@dataclass(frozen=True)
class Tolerance:
    """How far a number may be from a target's: so much, or such a part of it."""

    size: float
    relative: bool

    def reach(self, numbers: Floats) -> Floats:
        """Give how far from each number; a little more, for numbers are rounded."""
        made = self.size * np.abs(numbers) if self.relative else np.full(len(numbers), self.size)
        return made + 1e-9 * np.abs(numbers)


def _tolerances(comparison: Comparison, text: str) -> dict[str, Tolerance]:
    """Read tolerances such as ``age=2, income=10%``."""
    made = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, equals, size = (p.strip() for p in part.rpartition("="))
        if not equals:
            raise _refused(f"'{part}'", "write such as age=2, income=10%")
        if name not in comparison.keys:
            raise _refused(f"'{name}' is no key", near(name, comparison.keys))
        if np.isnan(comparison.train.numbers(name)).all():
            raise _refused(f"'{name}' has no numbers", "only numbers and dates can be near")
        try:
            number = float(size.removesuffix("%"))
        except ValueError:
            raise _refused(f"'{size}' is no number", "write such as age=2, income=10%") from None
        if not 0 <= number < float("inf"):
            raise _refused(f"{name}={size}", "give a number from 0 up")
        relative = size.endswith("%")
        made[name] = Tolerance(number / 100 if relative else number, relative)
    return made


def _refused(what: str, hint: str) -> OptionError:
    return OptionError(f"{CARD.name}: tolerance: {what}", hint=hint)


def _meets(source: Source, condition: Condition | None) -> Flags:
    return np.ones(source.height, bool) if condition is None else source.meets(condition)


def _play(
    comparison: Comparison,
    releases: tuple[Source, ...],
    condition: Condition | None,
    slack: dict[str, Tolerance],
    targets: Ints,
) -> _Played:
    """Look for the targets in tables whose row i is the record of person i."""
    from understudy.kernels.boxes import Index, best_matches

    places = Places.of([comparison.train, *releases], sorted(comparison.keys), slack)
    low, high = _boxes(places, slack, targets)
    # persons who are known by the same values are looked for once
    boxes, of_box = np.unique(np.hstack([low, high]), axis=0, return_inverse=True)
    of_box = of_box.reshape(-1)
    order = np.argsort(of_box, kind="stable")
    ends = np.searchsorted(of_box[order], np.arange(len(boxes)), "right")
    width = low.shape[1]
    ties, weight, among = best_matches(
        [Index.of(table, places.size) for table in places.tables[1:]],
        np.stack([_meets(release, condition) for release in releases]),
        np.ascontiguousarray(boxes[:, :width]),
        np.ascontiguousarray(boxes[:, width:]),
        targets[order],
        ends,
    )
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return _Played(ties[of_box], weight[of_box], among[back])


def _boxes(places: Places, slack: dict[str, Tolerance], targets: Ints) -> tuple[Ints, Ints]:
    """Give the smallest and largest code that a record may have for each target and key."""
    low = places.tables[0][:, targets].T.astype(np.int64)
    high = low.copy()
    for column, name in enumerate(places.names):
        numbers, codes = places.numbers(column), low[:, column].copy()
        if name not in slack or not len(numbers):
            continue
        is_number = (codes > 0) & (codes <= len(numbers))
        middle = numbers[codes[is_number] - 1]
        reach = slack[name].reach(middle)
        low[is_number, column] = np.searchsorted(numbers, middle - reach, "left") + 1
        high[is_number, column] = np.searchsorted(numbers, middle + reach, "right")
    return low, high


def _words(
    comparison: Comparison, condition: Condition | None, played: _Played, false: float | None
) -> str:
    who = "all training persons" if condition is None else "who meet the condition"
    many = len(comparison.synthetic)
    tables = "1 replicate" if many == 1 else f"{many} replicates together"
    said = [f"{len(played.ties):,} targets ({who}), looked for in {tables}."]
    if false is None:
        said.append("No target has a match: no record fits best alone.")
    varied = [
        n for n in comparison.keys
        if len(comparison.train.levels(n)) > 1 or comparison.schema[n].is_numeric
    ]  # fmt: skip
    if not varied:
        said.append("The keys are constant: they tell nobody apart.")
    said.append("A holdout is no control here: its persons have no record to be found.")
    return " ".join(said)


def _register(played: _Played, targets: Ints, comparison: Comparison) -> pl.DataFrame:
    """List the training persons that are found, the surest match first."""
    who = np.flatnonzero(played.true)
    order = np.lexsort((who, -played.weight[who]))
    agree = ", ".join(comparison.keys)
    return register(
        CARD.name, targets[who[order]], "true match", agree,
        probability=played.weight[who[order]],
    )  # fmt: skip
