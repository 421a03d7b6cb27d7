"""Synthetic rows that equal a real one, value for value."""

import numpy as np

from understudy.data.tables import free_name
from understudy.judging.comparison import Comparison
from understudy.judging.findings import Card, Finding, Part, described, wilson
from understudy.judging.judge import WITHOUT_HOLDOUT, Judgement
from understudy.judging.swaps import permuted_labels
from understudy.measures.privacy.coding import Ints

CARD = Card(
    name="privacy.identical_matches",
    title="Identical matches",
    meaning="The share of synthetic rows that equal a training row in every column.",
    formula="#{synthetic rows equal to some training row} / #{synthetic rows}; the reference "
    "is the same share for holdout rows; p by permuting the labels training and holdout "
    "over all real rows that some synthetic row equals; flagged when that p is small, that "
    "is, when synthetic rows equal training rows more often than holdout rows",
    unit="fraction",
    better="lower",
    opening="This copying detector reads",
    headline="share of synthetic rows",
    source="Platzer and Reutterer 2021, section 3 (exact copies); Hittmeir et al. 2019",
    not_shown="Near copies do not count: one changed digit hides a copied record. Few columns "
    "with few values match by chance, which is why the holdout's share stands beside.",
    threat="Anyone who sees the synthetic table and holds a full real record can confirm it. "
    "Counted against fresh real rows, which nobody can have copied.",
)


@described(CARD)
def identical_matches(comparison: Comparison, *, permutations: int = 2000) -> Finding:
    """Share of synthetic rows that equal a training row."""
    rows = comparison.rows("synthetic")
    count = free_name("times", rows.columns)
    distinct = rows.group_by(rows.columns, maintain_order=True).len(count)
    times = distinct[count].to_numpy().astype(np.int64)
    distinct = distinct.drop(count)
    in_train = comparison.copies("train", distinct)
    hits, total = int(times[in_train > 0].sum()), rows.height
    parts = [Part("distinct synthetic rows", len(times) / total)]
    baselines = {}
    reference = p_value = None
    if comparison.has_holdout:
        fresh = comparison.rows("holdout")
        reference = float((comparison.copies("train", fresh) > 0).mean())
        in_holdout = comparison.copies("holdout", distinct)
        baselines["holdout"] = int(times[in_holdout > 0].sum()) / total
        parts.append(Part("synthetic rows equal to a holdout row", baselines["holdout"]))
        sizes = comparison.height("train"), comparison.height("holdout")
        rng = comparison.stream(CARD.name)
        p_value = _permute(times, in_train, in_holdout, sizes, permutations, rng)
    judged = Judgement(
        (CARD.title,),
        np.array([hits / total]),
        (wilson(hits, total),),
        [{}],
        0,
        None if reference is None else np.array([reference]),
        None if p_value is None else np.array([p_value]),
    )
    return judged.finding(
        CARD,
        parts=parts,
        baselines=baselines,
        notes=[] if comparison.has_holdout else [WITHOUT_HOLDOUT],
    )


def _permute(
    times: Ints,
    in_train: Ints,
    in_holdout: Ints,
    sizes: tuple[int, int],
    permutations: int,
    rng: np.random.Generator,
) -> float:
    """Test whether synthetic rows equal training rows more often than holdout rows.

    Under exchangeable halves the labels of all real rows can be swapped at will. Each distinct
    synthetic row that equals some real rows counts with its multiplicity if at least one of
    them carries the label training. Each swap draws how many of these rows do and then which, in
    turn, where ``swap_some_labels`` draws all the numbers first: another stream, the same law.
    """
    touched = (in_train + in_holdout) > 0
    times, real = times[touched], (in_train + in_holdout)[touched]
    if not len(times):
        return 1.0
    observed = int(times[in_train[touched] > 0].sum())
    train, holdout = sizes
    owner = np.repeat(np.arange(len(times)), real)
    at_least = 0
    for _ in range(permutations):
        labelled = rng.hypergeometric(train, holdout, len(owner))
        hit = np.zeros(len(times), bool)
        hit[owner[permuted_labels(rng, len(owner), labelled)]] = True
        at_least += int(times[hit].sum()) >= observed
    return (1 + at_least) / (1 + permutations)
