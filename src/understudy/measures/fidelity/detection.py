"""The distinguishing game: a model that has seen examples tells synthetic from real rows."""

import math
from typing import Annotated

from understudy.errors import OptionError
from understudy.judging.comparison import Comparison
from understudy.judging.findings import Card, Finding, Part, around, described
from understudy.measures.fidelity.game import NAME, Game, play
from understudy.measures.fidelity.giveaways import in_words
from understudy.options import AtLeast

FEWEST = 20

CARD = Card(
    name=NAME,
    title="Detection",
    meaning="How well gradient boosting tells synthetic rows from fresh real ones: the chance "
    "that it ranks a synthetic row above a real one. 0.5 is a coin, 1 is certainty.",
    formula="synthetic against holdout at equal numbers; histogram gradient boosting, five folds, "
    "identical rows in one fold; mean over folds of the area under the ROC curve of rows that the "
    "model has not seen. Interval: DeLong's variance, rows that are identical summed first, and "
    "doubled, for every row is judged by models and also trains those that judge others. The "
    "reference is training against holdout by the same game; flagged when the interval lies above "
    "both it and 0.5. Parts: what the area loses when a column is shuffled (in up to 2,000 rows of "
    "each fold); a × b, of the six most telling columns: what is lost by shuffling a alone and b "
    "alone beyond what is lost by giving both to other rows together, which is what needs both to "
    "be told (shown from 0.005 and three standard errors over the folds); and the areas of a "
    "classification tree (64 leaves) and a forest (20 trees, each of half the rows) in the same "
    "folds, which take levels in the order of their frequency",
    unit="AUC",
    better="lower",
    headline="area under the ROC curve of gradient boosting",
    source="Lopez-Paz and Oquab 2017 (classifier two-sample test); DeLong et al. 1988; "
    "Obuchowski 1997; Breiman 2001 (forest, shuffling columns)",
    not_shown="Copies of training rows are as hard to tell from fresh rows as training itself: "
    "a low value says nothing about copying. What this model cannot see, another may.",
    needs=("holdout",),
)


@described(CARD)
def detection(
    comparison: Comparison,
    *,
    folds: Annotated[int, AtLeast(2)] = 5,
    iterations: int = 100,
    rows: int = 50_000,
) -> Finding:
    """Area under the ROC curve of telling synthetic from holdout rows."""
    if folds < 2:
        raise OptionError(f"{CARD.name}: folds = {folds}", hint="use at least 2")
    heights = {t: comparison.height(t) for t in comparison.tables}
    size = min(heights["synthetic"], heights["holdout"], rows)
    if size < FEWEST:
        return CARD.not_applicable(
            f"The game needs {FEWEST} rows of each side, and there are {size}."
        )
    game = play(comparison, "synthetic", size, folds=folds, iterations=iterations, shuffle=True)
    notes = [
        f"{size:,} of {height:,} {table} rows were drawn, for equal numbers{_cap(size, rows)}."
        for table, height in heights.items()
        if table != "train" and height > size
    ]
    real, known = None, min(size, heights["train"])
    if known < FEWEST:
        notes.append(f"The reference is 0.5 by theory: training has fewer than {FEWEST} rows.")
    else:
        real = play(comparison, "train", known, folds=folds, iterations=iterations)
    reference = 0.5 if real is None else real.value
    if game.by_row and game.lost:
        notes.append(
            "Rows have so many twins that folds were made by rows, not by distinct rows: few "
            "values in few columns."
        )
    interval = around(game.value, game.error, 0.0, 1.0)
    flagged = interval[0] > max(0.5, reference)
    if flagged:
        notes.insert(0, in_words(game.lost, game.together))
    return Finding(
        CARD.name,
        unit=CARD.unit,
        better=CARD.better,
        value=game.value,
        interval=interval,
        reference=reference,
        p_value=_p_value(game),
        flagged=flagged,
        parts=_parts(game, real),
        note=" ".join(notes),
    )


def _cap(size: int, rows: int) -> str:
    return " and the option rows" if size == rows else ""


def _p_value(game: Game) -> float:
    """Test whether the area is above one half."""
    if game.error == 0:
        return 1.0 if game.value <= 0.5 else 0.0
    return math.erfc((game.value - 0.5) / game.error / math.sqrt(2)) / 2


def _parts(game: Game, real: Game | None) -> tuple[Part, ...]:
    """List columns, then pairs, then the other models."""
    columns = [
        Part(name, loss) for name, loss in sorted(game.lost.items(), key=lambda i: (-i[1], i))
    ]
    pairs = [Part(" × ".join(one.names), one.value) for one in game.together if one.tells]
    models = [
        Part(
            f"model: {name}",
            area.value,
            0.5 if real is None or name not in real.others else real.others[name].value,
            interval=around(area.value, area.error, 0.0, 1.0),
        )
        for name, area in game.others.items()
    ]
    return (*columns, *pairs, *models)
