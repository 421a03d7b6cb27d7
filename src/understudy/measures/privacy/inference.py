"""Guess what is sensitive about a person from what is known: nearest records, and a model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from understudy.data.matrix import MOST_LEVELS
from understudy.errors import OptionError
from understudy.jobs.workers import one_thread
from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import Card, Finding, described
from understudy.judging.judge import Scores, judge, share_interval
from understudy.judging.register import FEW_PERSONS, register
from understudy.measures.privacy.arms import arms_of, attack_finding, drawn
from understudy.measures.privacy.coding import (
    Flags,
    Floats,
    Ints,
    Places,
    fixed_order,
    mixed_points,
)

CARD = Card(
    name="privacy.attribute_inference",
    title="Attribute inference",
    meaning="The share of training persons whose sensitive value is guessed right from the other "
    "columns (the keys, if given) with the synthetic table at hand.",
    formula="two attackers see the synthetic table: one takes the value of the nearest records "
    "(mixed distance; of several as near, the most frequent value or the middle number), one fits "
    "gradient boosting; a number is right within a relative tolerance, a date within as large a "
    "part of the dates' standard deviation. Mean over persons whose value is known; control: "
    "holdout persons; baseline: the one value that is right most often in the synthetic table. "
    "Interval and p by swapping labels, all columns and attackers corrected together",
    unit="fraction",
    better="lower",
    headline="share of training persons guessed right, by the worst look",
    source="Giomi et al. 2023, section 4.3; corrections as in disclosure.md",
    not_shown="A right guess is no leak by itself: whoever smokes is guessed right from what is "
    "true of people in general. Only the excess over holdout persons speaks of the training data. "
    "A stronger model may guess more.",
    threat="Someone knows the other columns (the keys) of a person and guesses the sensitive one "
    "by the synthetic table. Counted against holdout persons by the same synthetic table, and "
    "against always guessing the same value.",
    opening="This guessing attack reads",
    needs=("sensitive",),
)
MOST_CLASSES = 100
TIES = 10
CANDIDATES = 2000
NOTHING = "There is nothing to guess, or nothing to guess it from."
ALIKE = (
    "The known columns are the same in all synthetic records: they tell nobody apart. Name other "
    "keys (--keys)."
)


@described(CARD)
def attribute_inference(
    comparison: Comparison,
    *,
    tolerance: float = 0.05,
    attacks: int = 20_000,
    iterations: int = 50,
    rows: int = 20_000,
    permutations: int = 1000,
    strata: str | None = None,
    group: str | None = None,
) -> Finding:
    """Share of training persons whose sensitive value is guessed right, by the worst look.

    At most ``attacks`` persons of either side are attacked; the model is fitted to at most
    ``rows`` synthetic rows, by so many ``iterations``.
    """
    if not 0 <= tolerance < 1:
        raise OptionError(f"{CARD.name}: tolerance = {tolerance}", hint="give a part of the value")
    known = comparison.keys or tuple(n for n in comparison.names if n not in comparison.sensitive)
    game = _Guessing.of(comparison, sorted(known), tolerance, attacks, iterations, rows)
    if not game.columns:
        return CARD.not_applicable(" ".join(filter(None, [*game.notes, NOTHING])))
    tried = {
        f"{column.name} by {attack}": (column, attack)
        for column in game.columns
        for attack in game.attackers(column)
    }
    scores, few = Scores(
        list(tried),
        np.stack([game.play(*look, "synthetic") for look in tried.values()], axis=1),
        comparison.height("train"),
        [{"naive": column.naive} for column, _ in tried.values()],
    ).large_enough()
    if scores is None:
        return CARD.not_applicable(FEW_PERSONS)
    if few:
        game.notes.append(f"{few:,} of {len(tried):,} looks left out: {FEW_PERSONS}")
    judged = judge(
        comparison, scores, name=CARD.name, permutations=permutations, strata=strata, group=group,
        alone=share_interval, beyond_naive=True,
    )  # fmt: skip
    shown = judged.names[judged.headline]
    column, attack = tried[shown]
    ceiling = game.play(column, attack, "train")[: scores.train]
    who = np.flatnonzero(scores.sides[0][:, judged.headline] == 1)
    common = column.commonness[who]
    order = np.lexsort((who, common))
    return attack_finding(
        CARD,
        judged,
        arms_of(scores),
        original=float(np.nanmean(ceiling)),
        notes=game.notes,
        # those with the rarest values first
        register=register(
            CARD.name, who[order], shown, ", ".join(game.known), common=common[order]
        ),
    )


@dataclass(frozen=True)
class _Guessing:
    """What attackers know and must guess, and who is attacked."""

    comparison: Comparison
    known: Sequence[str]
    places: Places
    columns: tuple["GuessedColumn", ...]
    attacked: Flags
    notes: list[str]
    iterations: int
    rows: int

    @classmethod
    def of(
        cls,
        comparison: Comparison,
        known: Sequence[str],
        tolerance: float,
        attacks: int,
        iterations: int,
        rows: int,
    ) -> "_Guessing":
        """Code what is known and what is sensitive, and draw who is attacked."""
        sources = [comparison.source(t) for t in _tables(comparison)]
        names = sorted([*known, *comparison.sensitive])
        places = Places.of(sources, names)
        orders = [fixed_order(codes)[0] for codes in places.tables[1:]]
        attacked, said = drawn(comparison, attacks, orders, CARD.name)
        notes = [said]
        columns = []
        vary = any(len(np.unique(places.tables[0][names.index(name)])) > 1 for name in known)
        if not vary:
            notes.append(ALIKE)
        for name in comparison.sensitive if vary else ():
            column = GuessedColumn.of(comparison, places, name, tolerance)
            if column.is_open(attacked):
                columns.append(column)
            else:
                notes.append(f"'{name}' was left out: it is missing wherever it would be needed.")
        if columns and comparison.height("synthetic") > rows:
            height = comparison.height("synthetic")
            notes.append(f"Models were fitted to {rows:,} of {height:,} synthetic rows.")
        return cls(comparison, known, places, tuple(columns), attacked, notes, iterations, rows)

    def attackers(self, column: "GuessedColumn") -> list[str]:
        """Name the attackers that can be sent; a model learns only so many classes."""
        if column.classes > MOST_CLASSES:
            self.notes.append(f"'{column.name}' has too many levels for a model.")
            return ["nearest records"]
        return ["nearest records", "model"]

    def play(self, column: "GuessedColumn", attack: str, release: Which) -> Floats:
        """Guess for everybody who is attacked from one table as if it were released."""
        guess = self._by_model if attack == "model" else self._by_nearest
        scores = np.full(len(self.attacked), np.nan)
        guesses = guess(column, _tables(self.comparison).index(release))
        scores[self.attacked] = column.right(guesses, self.attacked)
        return scores

    def _learnt(self, column: "GuessedColumn", table: int) -> Ints:
        """Give the rows whose value is known, in an order that values alone decide."""
        order, _ = fixed_order(self.places.tables[table])
        return order[~np.isnan(column.tables[table][order])]

    def _once_each(self, guess: Callable[[Ints], Floats]) -> Floats:
        """Guess once for all persons of whom the same is known."""
        columns = [self.places.names.index(name) for name in self.known]
        persons = np.hstack(self.places.tables[1:])[columns][:, self.attacked]
        order, first = fixed_order(persons)
        guesses = np.empty(len(order))
        guesses[order] = guess(order[first])[np.cumsum(first) - 1]
        return guesses

    def _by_nearest(self, column: "GuessedColumn", table: int) -> Floats:
        """Guess by the nearest records; of several as near, the most frequent value or the middle.

        Up to ten records as near are asked.
        """
        from understudy.kernels.neighbors import mixed_neighbors

        by_table, is_category = mixed_points(self.comparison, self.known)
        points = [by_table[which] for which in _tables(self.comparison)]
        rows = self._learnt(column, table)
        persons = np.concatenate(points[1:])[self.attacked]
        k = min(TIES, len(rows))

        def guess(some: Ints) -> Floats:
            distance, index = mixed_neighbors(persons[some], points[table][rows], is_category, k)
            values = column.tables[table][rows][index]
            values[distance > distance[:, :1] * (1 + 1e-6)] = np.nan
            return _middle(values) if column.is_number else _most_frequent(values)

        return self._once_each(guess)

    def _by_model(self, column: "GuessedColumn", table: int) -> Floats:
        """Guess by gradient boosting, fitted to some rows."""
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        taken = self._learnt(column, table)[: self.rows]
        features, is_category = self.places.features(self.known, MOST_LEVELS)
        target = column.tables[table][taken]
        persons = np.concatenate(features[1:])[self.attacked]
        if len(np.unique(target)) == 1:
            return np.full(len(persons), target[0])
        learn = features[table][taken]
        varied = ~np.isnan(learn).all(axis=0)
        settings = {
            "max_iter": self.iterations,
            "early_stopping": False,
            "l2_regularization": 1.0,
            "categorical_features": is_category[varied] if is_category[varied].any() else None,
            "random_state": 0,
        }
        model = (
            HistGradientBoostingRegressor(loss="absolute_error", **settings)
            if column.is_number
            else HistGradientBoostingClassifier(**settings)
        )
        with one_thread("openmp"):
            model.fit(learn[:, varied], target)
            return self._once_each(
                lambda some: np.asarray(model.predict(persons[some][:, varied]), float)
            )


def _tables(comparison: Comparison) -> list[Which]:
    made: list[Which] = ["synthetic", "train"]
    return [*made, "holdout"] if comparison.has_holdout else made


@dataclass(frozen=True)
class GuessedColumn:
    """A sensitive column: its codes, its numbers, and how near a guess must come.

    Parameters
    ----------
    name : str
    is_number : bool
    truth : array
        The code of each real person, or the number (nan where it is missing).
    tables : tuple of array
        The same for the synthetic, training and holdout tables.
    tolerance : float
        The part of the value (relative), or so much (absolute) for a date.
    relative : bool
    naive : float
        How often the best single guess is right in training.
    commonness : array
        The share of synthetic rows that have each real person's value, within the tolerance.
    """

    name: str
    is_number: bool
    truth: Floats
    tables: tuple[Floats, ...]
    tolerance: float
    relative: bool
    naive: float
    commonness: Floats

    @classmethod
    def of(
        cls, comparison: Comparison, places: Places, name: str, tolerance: float
    ) -> "GuessedColumn":
        """Read a sensitive column of all tables."""
        column = places.names.index(name)
        is_number = comparison.schema[name].is_numeric and len(places.numbers(column)) > 0
        tables = tuple(
            places.values(column, table, as_numbers=is_number)
            for table in range(len(places.tables))
        )
        truth = np.concatenate(tables[1:])
        relative = comparison.schema[name].kind != "date"
        if not relative:
            tolerance *= float(np.nanstd(truth)) if np.isfinite(truth).any() else 0.0
        made = cls(name, is_number, truth, tables, tolerance, relative, 0.0, np.empty(0))
        return made._with_baseline(comparison.height("train"))

    def _with_baseline(self, train: int) -> "GuessedColumn":
        """Find the single guess that is right most often in the synthetic table."""
        seen = np.sort(self.tables[0][~np.isnan(self.tables[0])])
        if not len(seen):
            return self
        common = self._share(self.truth, seen)
        candidates = np.unique(seen)
        if len(candidates) > CANDIDATES:
            candidates = candidates[np.linspace(0, len(candidates) - 1, CANDIDATES).astype(int)]
        low, high = self._caught_by(candidates)
        caught = np.searchsorted(seen, high, "right") - np.searchsorted(seen, low, "left")
        best = candidates[np.argmax(caught)]
        known = self.truth[:train][~np.isnan(self.truth[:train])]
        right = self._hits(np.full(len(known), best), known)
        naive = float(right.mean()) if len(known) else 0.0
        return replace(self, naive=naive, commonness=common)

    def _share(self, truth: Floats, seen: Floats) -> Floats:
        """Give the share of sorted values that would be a right guess of each true value."""
        reach = self._reach(truth)
        near = np.searchsorted(seen, truth + reach, "right")
        made: Floats = (near - np.searchsorted(seen, truth - reach, "left")) / len(seen)
        return made

    def _reach(self, truth: Floats) -> Floats:
        if not self.is_number:
            return np.zeros(len(truth))
        reach = (
            self.tolerance * np.abs(truth) if self.relative else np.full(len(truth), self.tolerance)
        )
        return reach * (1 + 1e-12)

    def _caught_by(self, guess: Floats) -> tuple[Floats, Floats]:
        """Give the smallest and largest true value for which a guess is right."""
        if not self.is_number:
            return guess, guess
        if not self.relative:
            return guess - self.tolerance, guess + self.tolerance
        ends = guess / (1 + self.tolerance), guess / (1 - self.tolerance)
        return np.minimum(*ends), np.maximum(*ends)

    def _hits(self, guesses: Floats, truth: Floats) -> Flags:
        made: Flags = np.abs(guesses - truth) <= self._reach(truth)
        return made

    @property
    def classes(self) -> int:
        """How many levels there are to tell apart; 1 for a number."""
        return 1 if self.is_number else len(np.unique(self.tables[0]))

    def is_open(self, attacked: Flags) -> bool:
        """Whether there is something to learn from and somebody to guess for."""
        some = ~np.isnan(self.truth) & attacked
        train = len(self.tables[1])
        sides = [some[:train], some[train:]] if len(self.tables) > 2 else [some]
        return bool(~np.isnan(self.tables[0]).all() and all(side.any() for side in sides))

    def right(self, guesses: Floats, attacked: Flags) -> Floats:
        """Give 1 for a right guess, 0 for a wrong one, nan where there is nothing to guess."""
        truth = self.truth[attacked]
        return np.where(np.isnan(truth), np.nan, self._hits(guesses, truth))


def _middle(values: Floats) -> Floats:
    """Give the lower median of the values in each row."""
    ordered = np.sort(values, axis=1)
    many = (~np.isnan(ordered)).sum(axis=1)
    made: Floats = ordered[np.arange(len(ordered)), (many - 1) // 2]
    return made


def _most_frequent(values: Floats) -> Floats:
    """Give the most frequent value of each row; of equals, the one that stands first."""
    votes = (values[:, :, None] == values[:, None, :]).sum(axis=2)
    made: Floats = values[np.arange(len(values)), votes.argmax(axis=1)]
    return made
