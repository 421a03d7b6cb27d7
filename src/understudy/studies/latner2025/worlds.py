"""The attack of section 4.1, and what the two measures say of the same releases.

The attacker refits the trees in all 16 worlds; the chance of a release in each is exact. Fresh
releases show that the posterior of the unique record and the measures point in opposite directions.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from understudy.attacks.candidates import PossibleRecords, candidates
from understudy.attacks.posterior import IMPOSSIBLE, cell_chances, normalised
from understudy.attacks.records import vulnerable
from understudy.data.tables import Table
from understudy.errors import DataError
from understudy.judging.comparison import compare_tables, stream
from understudy.measures import MEASURES
from understudy.studies.published import StudyPart
from understudy.synthesizers import synthesizer
from understudy.synthesizers.generators import NamedGenerator

Row = dict[str, Any]

SEED = 1237
RELEASES = 200
QUICK_RELEASES = 20
ROLES = {"keys": ("var1", "var2", "var3"), "sensitive": ("var4",)}
MEASURED = {
    "repU": "privacy.replicated_uniques",
    "DiSCO": "privacy.attribute_disclosure",
}
SETTINGS: dict[str, dict[str, Any]] = {
    "synthpop's defaults": {"minbucket": 5, "cp": 1e-8},
    "minbucket 75": {"minbucket": 75},
    "cp 0.05": {"cp": 0.05},
}
OTHER_SETTINGS = tuple(SETTINGS)[1:]


class Attacker:
    """Knows the trees, all records but the unique one, and the 16 combinations it could be."""

    def __init__(self, original: pl.DataFrame, options: dict[str, Any]) -> None:
        self.train = Table.of(original)
        self.record = int(vulnerable(self.train, 1)[0])
        drawn = stream(SEED, "latner2025", "candidates")
        among: PossibleRecords = candidates(self.train, self.record, None, 16, 15, drawn)
        self.truth, self.cells = among.truth, Table(among.rows, self.train.schema)
        worlds = among.worlds(self.train, self.record)
        logs = cell_chances(NamedGenerator("cart", options), self.train, worlds, self.cells)
        self.logs = np.where(np.isfinite(logs), logs, IMPOSSIBLE)

    def counts(self, release: pl.DataFrame) -> Any:
        """Count the combinations of a release, in the order of the candidates."""
        names = self.cells.frame.columns
        found = release.select(names).cast(self.cells.frame.schema).group_by(names).len("n")
        joined = self.cells.frame.join(found, on=names, how="left", maintain_order="left")
        return joined["n"].fill_null(0).to_numpy()

    def posterior(self, *releases: pl.DataFrame) -> float:
        """Give the chance of the unique record once these tables are released."""
        counts = np.sum([self.counts(release) for release in releases], axis=0)
        return float(normalised(self.logs @ counts)[self.truth])

    def copies(self, release: pl.DataFrame) -> int:
        """Count the unique record in a release."""
        return int(self.counts(release)[self.truth])


def attack_published(
    original: pl.DataFrame, released: pl.DataFrame, ten: list[pl.DataFrame]
) -> list[Row]:
    """Give the posterior of the unique record for the authors' releases."""
    attacker = Attacker(original, SETTINGS[next(iter(SETTINGS))])
    rows = [_row("the authors' release (seed 1237)", attacker, original, [released])]
    for copied in (0, 1, 2, 3):
        some = [table for table in ten if attacker.copies(table) == copied]
        if some:
            rows.append(_row(f"figure 2: {copied} copies of 1111", attacker, original, some))
    for many in (5, 10):
        name = f"figure 2: the first {many} together"
        rows.append(
            {"release": name, "releases": 1, "copies": sum(map(attacker.copies, ten[:many])),
             "lowest": attacker.posterior(*ten[:many]),
             "highest": attacker.posterior(*ten[:many])}
        )  # fmt: skip
    return rows


@dataclass(frozen=True)
class FreshReleases:
    """Makes many releases by one of the settings, and attacks them."""

    original: pl.DataFrame
    many: int

    def do(self, setting: StudyPart) -> list[Row]:
        """Give the posterior for the releases with the unique record, and for those without."""
        (name,) = setting.words
        attacker = Attacker(self.original, SETTINGS[name])
        model = synthesizer("cart", seed=SEED, relations=False, **SETTINGS[name]).fit(self.original)
        fresh = [model.sample(replicate=replicate) for replicate in range(self.many)]
        rows = []
        for held, what in ((True, "with 1111"), (False, "without 1111")):
            some = [table for table in fresh if (attacker.copies(table) > 0) == held]
            if some:
                rows.append(_row(f"{name}, fresh, {what}", attacker, self.original, some))
        return rows


def warning(rows: list[Row]) -> str:
    """Say from the rows whether the measures point where the attack does, at the defaults."""
    usual = [r for r in rows if "DiSCO lowest" in r and not r["release"].startswith(OTHER_SETTINGS)]
    held = [row for row in usual if row["copies"]]
    absent = [row for row in usual if not row["copies"]]
    if not (held and absent):
        return "Releases with and without the unique record are needed to compare the measures."
    known, unknown = min(r["lowest"] for r in held), max(r["highest"] for r in absent)
    seen = max(r[f"{title} highest"] for r in held for title in MEASURED)
    wrong = min(r["DiSCO lowest"] for r in absent)
    way = "the wrong way" if known > unknown and seen < wrong else "the way of the attack"
    return (
        f"The measures point {way}: where the unique record is in the release, the attacker's "
        f"posterior is at least {_percent(known)}, and repU and DiSCO are at most "
        f"{_percent(seen)}; where it is not, the posterior is at most {_percent(unknown)}, and "
        f"DiSCO is at least {_percent(wrong)}."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def measured(measure: str, original: pl.DataFrame, release: pl.DataFrame) -> float:
    """Give what a measure says of a release; that it fails is no answer."""
    found = MEASURES[measure](compare_tables(original, release, **ROLES))
    if found.value is None:
        raise DataError(f"{measure} gave no value: {found.note}", hint="is the file whole?")
    return found.value


def _row(
    name: str, attacker: Attacker, original: pl.DataFrame, releases: list[pl.DataFrame]
) -> Row:
    """Sum up some releases: the posterior, and the largest value of each measure."""
    posteriors = [attacker.posterior(release) for release in releases]
    made: Row = {
        "release": name,
        "releases": len(releases),
        "copies": max(map(attacker.copies, releases)),
        "lowest": min(posteriors),
        "highest": max(posteriors),
    }
    for title, measure in MEASURED.items():
        values = [measured(measure, original, release) for release in _different(releases)]
        made |= {f"{title} lowest": min(values), f"{title} highest": max(values)}
    return made


def _different(releases: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """Leave out releases in which the same combinations occur: both measures see no more of them.

    DiSCO asks whether a combination of keys has one value only, repU whether it occurs once.
    """
    kept: dict[tuple[Any, ...], pl.DataFrame] = {}
    for release in releases:
        counted = release.group_by(pl.all()).len("n")
        key = tuple(sorted((*row[:-1], min(row[-1], 2)) for row in counted.rows()))
        kept.setdefault(key, release)
    return list(kept.values())
