"""Which candidates are dominated, and what may be said about it: no more than intervals support."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from understudy.report import words
from understudy.workflows.assessment import Assessment
from understudy.workflows.compare.differences import DECIDING, FIDELITY, SHARE, Difference

Pairs = Mapping[tuple[str, str], Mapping[str, Difference]]
NO_HOLDOUT = (
    "Nothing is recommended without the share closer to training, which needs fresh real rows (a "
    "holdout): by fidelity alone a copy of training would win."
)


@dataclass(frozen=True)
class Dominance:
    """The candidates that can be judged, who dominates each, and all of it in sentences."""

    judged: tuple[str, ...]
    dominated_by: Mapping[str, tuple[str, ...]]
    sentences: tuple[str, ...]

    @property
    def pareto(self) -> tuple[str, ...]:
        """The candidates that none dominates."""
        return tuple(name for name in self.judged if not self.dominated_by[name])


def judge(assessments: Mapping[str, Assessment], found: Sequence[Difference]) -> Dominance:
    """Find the Pareto set on three-way fidelity and the share closer to training, and say why.

    One candidate dominates another if it is not worse on either and better on at least one, each
    as far as the intervals of the differences tell.
    """
    why = {name: _unjudged(assessment) for name, assessment in assessments.items()}
    judged = tuple(name for name, reason in why.items() if not reason)
    pairs: dict[tuple[str, str], dict[str, Difference]] = {}
    for difference in found:
        pair = difference.a, difference.b
        if difference.measure in DECIDING and set(pair) <= set(judged):
            pairs.setdefault(pair, {})[difference.measure] = difference
    dominated_by: dict[str, tuple[str, ...]] = dict.fromkeys(judged, ())
    for (a, b), measures in pairs.items():
        better = {d.better for d in measures.values()} - {None}
        for winner, loser in ((a, b), (b, a)):
            if better == {winner}:
                dominated_by[loser] += (winner,)
    verdict = Dominance(judged, dominated_by, ())
    sentences = [
        *_missing(why, found),
        *_ranked(verdict, pairs),
        *_flags(verdict, assessments),
        *_about_intervals(found),
    ]
    return Dominance(judged, dominated_by, tuple(sentences))


def _unjudged(assessment: Assessment) -> str:
    """Say why a candidate cannot be judged; nothing if it can."""
    findings = {finding.measure: finding for finding in assessment}
    for name in DECIDING:
        if findings[name].status != "ok":
            return f"{name}: {words.mark(findings[name].to_dict())}"
    return ""


def _missing(why: Mapping[str, str], found: Sequence[Difference]) -> Iterator[str]:
    """Say who is not judged, and where none has the share, what fidelity alone tells."""
    if all(reason.startswith(SHARE) for reason in why.values()):
        yield NO_HOLDOUT
        for difference in found:
            if difference.measure == FIDELITY:
                yield f"'{difference.a}' against '{difference.b}': {_tell(difference)}."
        return
    for name, reason in why.items():
        if reason:
            yield f"'{name}' is not judged ({reason})."


def _ranked(verdict: Dominance, pairs: Pairs) -> Iterator[str]:
    """Name the Pareto set, then say of every dominated candidate and every pair left why."""
    judged, pareto = verdict.judged, verdict.pareto
    if len(judged) == 1:
        yield f"'{judged[0]}' stands alone: it is compared with fresh real rows only."
    if len(judged) < 2:
        return
    if not pareto:
        yield "Each candidate is dominated by another in turn: nothing can be preferred."
    elif len(pareto) == len(judged):
        yield f"None dominates another; the Pareto set is {quoted(pareto)}."
    else:
        yield f"The Pareto set is {quoted(pareto)}: no candidate dominates it."
    for name in judged:
        by = verdict.dominated_by[name]
        if by:
            over = max(by, key=lambda other: (other in pareto, _beaten_on(pairs, other, name)))
            yield f"'{over}' against '{name}': {_words(_both(pairs, over, name))}: prefer '{over}'."
    for (a, b), measures in pairs.items():
        if a in pareto and b in pareto:
            if any(difference.better for difference in measures.values()):
                yield f"'{a}' or '{b}' is yours to weigh: {_words(measures)}."
            else:
                yield f"Nothing here separates '{a}' from '{b}': {_words(measures)}."


def _both(pairs: Pairs, a: str, b: str) -> Mapping[str, Difference]:
    return pairs[a, b] if (a, b) in pairs else pairs[b, a]


def _beaten_on(pairs: Pairs, winner: str, loser: str) -> int:
    return sum(d.better == winner for d in _both(pairs, winner, loser).values())


def listed(names: Sequence[str]) -> str:
    """Join names in words.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def quoted(names: Sequence[str]) -> str:
    """Join names of candidates, which may be any text."""
    return listed([f"'{name}'" for name in names])


def _words(measures: Mapping[str, Difference]) -> str:
    return "; ".join(_tell(measures[name]) for name in DECIDING if name in measures)


def _tell(difference: Difference) -> str:
    """Say what the interval of a difference supports."""
    high = difference.a if difference.value > 0 else difference.b
    gap = amount(difference, positive=difference.apart)
    fidelity = difference.measure == FIDELITY
    if not difference.apart:
        on = "triples of columns (F3)" if fidelity else "the share closer to training"
        return f"they cannot be told apart on {on} ({gap}, '{difference.a}' less '{difference.b}')"
    if fidelity:
        told = f"the triples of columns (F3) of '{high}' are further from training by {gap}"
        excuse = "no further than those of fresh real rows"
    else:
        told = f"the rows of '{high}' are closer to training by {gap}"
        excuse = "no closer than fresh real rows"
    return told if difference.better else f"{told}, though {excuse}"


def amount(difference: Difference, *, positive: bool = False) -> str:
    """Print a difference and its interval; shares in points of per cent.

    Examples
    --------
    >>> amount(Difference("m", "a", "b", "fraction", 0.031, (0.022, 0.04), 1, True, "b"))
    '3.10 points [2.20, 4.00]'
    """
    sign = -1 if positive and difference.value < 0 else 1
    scale = 100 if difference.unit == "fraction" else 1
    unit = "points" if difference.unit == "fraction" else words.visible(difference.unit)

    def printed(number: float) -> str:
        scaled = sign * scale * number
        text = f"{scaled:.2f}" if scale == 100 else words.significant(scaled)
        return text.replace("-", "−")

    ends = difference.interval
    between = "no interval" if ends is None else ", ".join(map(printed, ends[::sign]))
    return f"{printed(difference.value)} {unit} [{between}]"


def _flags(verdict: Dominance, assessments: Mapping[str, Assessment]) -> Iterator[str]:
    """Say which candidates of the set are flagged: not being dominated is no merit by itself."""
    flagged = {
        name: [m for m in DECIDING if assessments[name][m].flagged] for name in verdict.pareto
    }
    for name, on in flagged.items():
        if on:
            yield f"'{name}' is flagged on {listed(on)}: there it does worse than fresh real rows."
    if len(flagged) > 1 and all(flagged.values()):
        yield "No candidate of the set does as well as fresh real rows on both."


def _about_intervals(found: Sequence[Difference]) -> Iterator[str]:
    deciding = [d for d in found if d.measure in DECIDING]
    if not deciding:
        return
    looks, level = deciding[0].looks, words.level(deciding[0].level)
    if looks > 1:
        yield f"These intervals hold for all {looks} differences looked at together, at {level}."
    unpaired = list(dict.fromkeys(quoted((d.a, d.b)) for d in deciding if not d.paired))
    if unpaired:
        yield f"Unpaired, and so on the wide side, are the intervals of {'; '.join(unpaired)}."
