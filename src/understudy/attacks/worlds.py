"""attack.worlds: what was the last record? The strong attacker of Latner et al. (2025)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from understudy.attacks.candidates import Candidates, candidates
from understudy.attacks.games import Floats
from understudy.attacks.kept import FEWEST
from understudy.attacks.likelihoods import knows_chances
from understudy.attacks.records import vulnerable
from understudy.attacks.setting import Setting
from understudy.attacks.weighing import Weighed, by_likelihood, by_refits
from understudy.errors import OptionError
from understudy.judging.findings import Card, Finding, Part, TableOfNumbers, described

MOST_EXACT = 1000
MOST_REFITTED = 64
SHOWN = 40
EVIDENCE = 3.0
WAYS = ("auto", "likelihood", "counts", "nearness")

CARD = Card(
    name="attack.worlds",
    title="The last record, guessed by refitting",
    meaning="How sure an attacker who knows all other records and can run the generator becomes of "
    "the values of the last record, once the synthetic table is released.",
    formula="P(w | S) = P(S | w) / Σ_v P(S | v) over the candidates v for the last record, all "
    "equally likely before. P(S | w) is the product of the chances of the released rows once the "
    "generator is fitted in world w, where it can say them. Otherwise the generator is refitted "
    "in every world again and again; a conditional logit on counts of rows equal or near to each "
    "candidate, fitted on the refits, gives P(w | S). Flagged if the odds of the truth grew at "
    f"least {EVIDENCE:g}-fold, by the interval's lower end.",
    unit="fraction",
    better="lower",
    headline="the posterior of the record's real values",
    source="Latner, Neunhoeffer and Drechsler 2025, section 4.1; records by Meeus et al. 2023",
    not_shown="It is the risk of one record against one release, under the strongest knowledge. A "
    "low posterior for this record and this draw says nothing of other records, and little of the "
    "next draw: absence from a release informs the attacker as well.",
    threat="Knows the generator and its settings, every record but one, and what that one could "
    "be; sees the released tables. Counted against the guess without a release: one in as many as "
    "there are candidates. Null: a generator that gives the same rows whatever it learnt, "
    "whose posterior is the prior. Positive control: copies of rows, drawn again, whose posterior "
    "is known exactly.",
    opening="The posterior of the real record is",
    against="a guess without the release gets",
)


@dataclass(frozen=True)
class _Target:
    record: int
    how: str


@described(CARD)
def worlds(
    setting: Setting,
    *,
    record: int | None = None,
    columns: Sequence[str] | str | None = None,
    most: int | None = None,
    alternatives: int = 15,
    copies: int = 1,
    by: str = "auto",
    rounds: int = 200,
) -> Finding:
    """Guess the last record from what the generator makes in every world that it allows.

    Parameters
    ----------
    record : int, optional
        The row attacked, from 1; the record that stands most apart if not given.
    columns : list of str, optional
        What the attacker does not know of the record; all columns if not given.
    most : int, optional
        The most candidates when all combinations of values are tried; 1,000 if not given, 64 where
        the generator is refitted again and again.
    alternatives : int
        How many other records lend their values as candidates where there are more.
    copies : int
        How many tables the attack releases itself, where none is given.
    by : {"auto", "likelihood", "counts", "nearness"}
        How worlds are weighed: by exact chances where the generator knows them, by cells in
        small tables of categories, by rows near to the candidates otherwise.
    rounds : int
        The most refits of each world.
    """
    if by not in WAYS:
        raise OptionError(f"by = '{by}'", hint=f"use one of {', '.join(WAYS)}")
    if copies < 1 or rounds < 2:
        raise OptionError(f"copies = {copies}, rounds = {rounds}", hint="use 1 copy, 2 rounds")
    exact = knows_chances(setting.generator, setting.train)
    if by == "likelihood" and not exact:
        raise OptionError(
            f"{setting.generator.name} cannot say how likely rows are",
            hint="use by=auto; trees, independent and bootstrap can",
        )
    exact = exact and by in ("auto", "likelihood")
    target = _target(setting, record)
    cap = most if most is not None else MOST_EXACT if exact else MOST_REFITTED
    stream = setting.stream(CARD.name, "candidates")
    among = candidates(setting.train, target.record, columns, cap, alternatives, stream)
    every = among.worlds(setting.train, target.record)
    if exact:
        weighed = by_likelihood(setting, every, among.truth, copies)
    else:
        weighed = by_refits(setting, every, among, target.record, copies, by, rounds)
    if weighed.failed:
        return CARD.failed(weighed.failed)
    return _finding(setting, target, among, weighed)


def _target(setting: Setting, record: int | None) -> _Target:
    if record is None:
        setting.progress("choosing the record", 0, 1)
        place = int(vulnerable(setting.train, 1)[0])
        return _Target(place, "The record that stands most apart from all others was attacked.")
    if not 1 <= record <= setting.train.height:
        raise OptionError(
            f"record = {record}: there is no such row",
            hint=f"name a row from 1 to {setting.train.height:,}",
        )
    return _Target(record - 1, "A record named by the user was attacked.")


def _finding(setting: Setting, target: _Target, among: Candidates, weighed: Weighed) -> Finding:
    posterior, many = weighed.posterior, len(weighed.places)
    value, prior = float(posterior[weighed.places.index(among.truth)]), 1 / many
    rank = 1 + int((posterior > value).sum())
    interval = (value, value) if weighed.is_exact else weighed.interval
    if weighed.is_exact:
        ends = "The answer is exact for this release."
    elif interval is None:
        ends = (
            f"Some world was refitted fewer than {FEWEST} times: there is no interval, and nothing "
            "is flagged. Give more (budget, refits)."
        )
    else:
        interval = min(interval[0], value), max(interval[1], value)
        ends = "The interval is for this release: it covers what the refits leave open."
    note = f"{target.how} The candidates are {among.how}. {weighed.note} {ends}"
    return Finding(
        CARD.name,
        unit=CARD.unit,
        better=CARD.better,
        value=value,
        interval=interval,
        reference=prior,
        flagged=interval is not None and _odds(interval[0]) >= EVIDENCE * _odds(prior),
        parts=(
            Part("rank of the real record", rank, more={"candidates": many}, unit=f"of {many:,}"),
            Part("highest posterior", float(posterior.max()), prior),
            Part(
                "entropy of the posterior", _entropy(posterior), float(np.log2(many)), unit="bits"
            ),
            *weighed.parts,
        ),
        tables={"histogram:posterior by rank": _ranked(posterior)},
        note=note,
        register=_register(target.record, among, weighed),
    )


def _odds(share: float) -> float:
    return share / max(1 - share, 1e-300)


def _entropy(posterior: Floats) -> float:
    present = posterior[posterior > 0]
    return max(0.0, -float((present * np.log2(present)).sum()))


def _ranked(posterior: Floats) -> TableOfNumbers:
    """Give the posterior beside the prior, likeliest first: which candidate it is stays unsaid."""
    ranked = np.sort(posterior)[::-1][:SHOWN]
    rows = tuple((i, float(p), 1 / len(posterior)) for i, p in enumerate(ranked, start=1))
    return TableOfNumbers(("rank", "posterior", "prior"), rows)


def _register(record: int, among: Candidates, weighed: Weighed) -> pl.DataFrame:
    """List all candidates; those whose worlds failed have no posterior."""
    many = len(among)
    posterior: list[float | None] = [None] * many
    for place, chance in zip(weighed.places, weighed.posterior, strict=True):
        posterior[place] = float(chance)
    listed = pl.DataFrame(
        {
            "measure": [CARD.name] * many,
            "training_row": pl.Series([record] * many, dtype=pl.Int64),
            "candidate": among.told(),
            "is_real": np.arange(many) == among.truth,
            "posterior": pl.Series(posterior, dtype=pl.Float64),
        }
    )
    prior = pl.when(pl.col("posterior").is_not_null()).then(pl.lit(1 / len(weighed.places)))
    listed = listed.with_columns(prior=prior)
    return listed.sort("posterior", descending=True, maintain_order=True, nulls_last=True)
