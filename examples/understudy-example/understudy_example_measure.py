"""Which levels of training come back: a measure for understudy in a package of its own."""

from understudy import Card, Comparison, Finding, Part, described
from understudy.judging.findings import wilson

LEAST = 5  # records that must hold a level: rarer ones are nobody's business

CARD = Card(
    name="fidelity.level_coverage",
    title="Levels that come back",
    meaning="The share of the categories' levels in training that the synthetic table has too.",
    formula="levels with at least 5 training records that occur in the synthetic table / all such",
    unit="fraction",
    better="higher",
    headline="share over all categories",
    source="an example",
    not_shown="How often the levels occur, and what becomes of rare ones.",
    in_memory=False,
)


@described(CARD)
def level_coverage(comparison: Comparison, *, least: int = LEAST) -> Finding:
    """Count the levels of training that the synthetic table, and the holdout, have too."""
    schema = comparison.schema
    levels = {
        name: [level for level, n in comparison.train.levels(name).items() if n >= least]
        for name in comparison.names
        if not schema[name].is_numeric
    }
    levels = {name: known for name, known in levels.items() if known}
    total = sum(map(len, levels.values()))
    if not total:
        return CARD.not_applicable(f"No column has levels that {least} records hold.")
    synthetic = {name: _hits(comparison, "synthetic", name, levels[name]) for name in levels}
    found = sum(synthetic.values())
    reference, fresh = None, {}
    if comparison.has_holdout:
        fresh = {name: _hits(comparison, "holdout", name, levels[name]) for name in levels}
        reference = sum(fresh.values()) / total
    parts = [
        Part(
            name,
            synthetic[name] / len(known),
            fresh[name] / len(known) if fresh else None,
            {"levels": float(len(known))},
        )
        for name, known in levels.items()
    ]
    return CARD.finding(
        value=found / total,
        interval=wilson(found, total),
        reference=reference,
        parts=tuple(sorted(parts, key=lambda part: part.value or 0.0)),
        note="" if fresh else "There is no holdout to compare with.",
    )


def _hits(comparison: Comparison, which: str, name: str, known: list[str]) -> int:
    there = comparison.source(which).levels(name)
    return sum(level in there for level in known)
