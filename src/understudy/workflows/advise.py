"""Propose what an attacker may know (keys) and what must not be learnt (sensitive columns).

Which columns others know about a person is a question about the world. The table answers a part of
it: how few values single a person out. Names answer another, as far as they are telling.
"""

import re
import time
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.data.relations.known import relations_of
from understudy.data.schema import Column, Schema, few
from understudy.data.tables import Table, warn_left_out
from understudy.errors import OptionError
from understudy.options import Seconds, Texts, check_arguments

AUTO, ALL = "auto", "all"
MOST_KEYS = 5
LARGEST_SET = 4
BEAM = 8
MOST_KEY_SETS = 5
ENOUGH = 0.5
TOO_FINE = 0.1
FEW_VALUES = 100
BUDGET = 10.0
FOLLOWS = ("formula", "lookup", "classes")

Ints = NDArray[np.int64]
Role = Literal["known", "sensitive", "unclear"]

KNOWN = {
    "sex": "sex gender male female man woman fem geschlecht sexe genre sexo genero sesso geslacht "
    "kon kjonn plec",
    "age or a date of life": "age agep ages agew ageh ageyr years_old birth birthday birthdate "
    "birthyear ybirth dob born yob alter lebensalter geburt geburtsdatum geburtsjahr edad "
    "nacimiento naissance nascita idade leeftijd alder wiek",
    "where a person lives or comes from": "region state county city town zip zipcode postcode "
    "postal plz place placesize village district municipality address puma country native "
    "nationality citizenship citizen residence urban rural smsa province prefecture bundesland "
    "land kreis gemeinde ort stadt wohnort ville pays commune departement ciudad pais provincia "
    "citta comune regione stato cidade woonplaats birthplace geburtsort",
    "origin": "race ethnic ethnicity ethn hispanic rac hisp black white nwhite nonwhite asian "
    "minority aboriginal herkunft raza etnia origine",
    "family": "marital married marr marstat msp spouse divorced widowed single nevermarried "
    "relationship household hh hhsize family children kids child kid siblings noc npf "
    "familienstand verheiratet kinder haushalt civil hijos enfants stato_civile figli",
    "schooling": "education educ edu school schooling degree eduspec nodegree bildung schulbildung "
    "abschluss estudios escolaridad diplome istruzione opleiding wyksztalcenie educw educh",
    "work": "occupation occ job profession socprof industry indp workclass employer employment "
    "employed sector rank beruf branche profesion ocupacion metier professione beroep zawod",
    "language": "language englang lang sprache langue idioma lingua",
    "a date": "date day visit admission discharge year yr ymarr mmarr datum fecha data",
}
ALWAYS, OFTEN, AT_TIMES = 1, 2, 3  # how surely others know what a column is about
RANK = {"sex": ALWAYS, "age or a date of life": ALWAYS, "language": AT_TIMES, "a date": AT_TIMES}
SENSITIVE = {
    "money": "income wage salary earning pay wealth charge cost bill expense debt loan credit "
    "balance capital rent tax pincp price purchase purchased savings default",
    "health": "disease diagnosis illness health medical medication drug treatment therapy hiv "
    "cancer depress depression disability disabled pregnant pregnancies glucose insulin blood "
    "bloodpressure bmi bp cholesterol skin outcome symptom surgery diabetes stroke anxiety workab",
    "habits": "smoke smoker smoking tobacco nociga alcohol alcabuse alcsol gambling",
    "beliefs": "religion politics political vote party union faith belief trust",
    "personal life": "orientation sexual partner partners friend nofriend violence",
    "the law": "crime criminal convict conviction arrest offence offense prison fraud",
}


@dataclass(frozen=True)
class ColumnAdvice:
    """One column: how far it singles persons out, and what its name and shape suggest."""

    name: str
    kind: str
    values: int
    unique: float
    role: Role
    why: str


@dataclass(frozen=True)
class KeySet:
    """A set of columns and the share of records that are alone with their values of it."""

    names: tuple[str, ...]
    unique: float


@dataclass(frozen=True, repr=False)
class Advice:
    """What is proposed, and why.

    ``looked`` is the number of sets that were counted; ``complete`` is false if time ran out.
    """

    rows: int
    columns: tuple[ColumnAdvice, ...]
    sets: tuple[KeySet, ...]
    keys: tuple[str, ...]
    keys_unique: float
    sensitive: tuple[str, ...]
    looked: int
    complete: bool

    def __repr__(self) -> str:
        kept = f"keys: {few(self.keys) or 'none'}; sensitive: {few(self.sensitive) or 'none'}"
        return f"Advice({self.rows:,} rows; {kept})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "version": 1,
            **vars(self),
            "columns": [vars(column) for column in self.columns],
            "sets": [{"names": list(s.names), "unique": s.unique} for s in self.sets],
            "keys": list(self.keys),
            "sensitive": list(self.sensitive),
        }


def keys(
    data: Any,
    *,
    schema: Schema | str | Path | None = None,
    sensitive: Texts = (),
    budget: Seconds = BUDGET,
) -> Advice:
    """Rank columns and small sets of columns by how many records they single out.

    Every share is counted on all rows. The search for sets is greedy: all pairs, then the best few
    sets of each size with one more column, as far as the budget of seconds goes. Columns that a
    person named ``sensitive`` are never proposed as keys.

    Keys are proposed by what others know: first sex and age, then where a person lives, origin,
    family, schooling and work, then dates and language, each as long as it singles out more
    persons. Of columns of which one follows from the other by a relation, one is proposed.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"sex": ["f"] * 20 + ["m"] * 20, "age": list(range(20, 40)) * 2,
    ...                        "region": ["n", "n", "s", "s"] * 10, "income": [1, 2, 3, 4] * 10})
    >>> found = keys(people)
    >>> found.keys, found.sensitive
    (('sex', 'age'), ('income',))
    """
    check_arguments(keys, locals())
    table = Table.of(data, schema, name="training table").with_rows()
    warn_left_out(table, data, schema, depth=3)
    declared = as_names(sensitive)
    table.schema.check_modelled("sensitive", () if declared == (ALL,) else declared)
    search = _Search(table, time.perf_counter() + budget)
    judged = tuple(
        sorted(
            (_judge(table.schema[n], codes, n in declared) for n, codes in search.codes.items()),
            key=lambda column: -column.unique,
        )
    )
    chosen = search.keys(judged, linked_columns(table))
    found = search.sets()
    roles = {column.name: column.role for column in judged}
    in_order = [name for name in table.schema.modelled if name in roles]
    return Advice(
        table.height,
        judged,
        found,
        tuple(name for name in in_order if name in chosen.names),
        chosen.unique,
        tuple(name for name in in_order if roles[name] == "sensitive"),
        search.looked,
        search.complete,
    )


def _judge(column: Column, codes: Ints, declared: bool) -> ColumnAdvice:
    counts = np.bincount(codes)
    counts = counts[counts > 0]
    role, why = _role(column, len(counts))
    if declared:
        role, why = "sensitive", "declared"
    unique = float((counts == 1).sum() / len(codes))
    return ColumnAdvice(column.name, column.kind, len(counts), unique, role, why)


def _role(column: Column, values: int) -> tuple[Role, str]:
    """Say what a name suggests; where it says nothing, what the shape does."""
    for subject, words in SENSITIVE.items():
        if _named(column.name, words.split()):
            return "sensitive", f"the name suggests {subject}"
    about = _subject(column.name)
    if about is not None:
        return "known", f"the name suggests {about}, which others often know"
    if column.kind == "date":
        return "known", "a date, which others often know"
    if column.kind == "number" and values > FEW_VALUES:
        return "unclear", "a number of many values, which others seldom know exactly"
    return "unclear", "neither name nor shape says who knows it"


def _subject(name: str) -> str | None:
    """Say what a name suggests that others know."""
    return next((about for about, words in KNOWN.items() if _named(name, words.split())), None)


def _order(column: ColumnAdvice) -> tuple[int, str, int, float]:
    """Rank a column: how surely it is known, about what, by which word, how fine it is.

    A column whose whole name is a word comes before those that have it as a part.
    """
    subject = _subject(column.name) or "a date"
    words, name = KNOWN[subject].split(), column.name.lower()
    place = words.index(name) if name in words else len(words)
    return RANK.get(subject, OFTEN), subject, place, -column.unique


def linked_columns(table: Table) -> dict[str, set[str]]:
    """Give for each column those that it follows from, or that follow from it, by a relation."""
    linked: dict[str, set[str]] = {}
    for one in relations_of(table):
        if one.kind in FOLLOWS and one.target is not None:
            for source in one.sources:
                linked.setdefault(one.target, set()).add(source)
                linked.setdefault(source, set()).add(one.target)
    return linked


def _named(name: str, words: Iterable[str]) -> bool:
    """Tell whether a part of a name is one of the words, in the singular or the plural.

    Examples
    --------
    >>> _named("maritalStatus", ["marital"]), _named("wages", ["wage"]), _named("agent", ["age"])
    (True, True, False)
    >>> _named("Género", ["genero"])
    True
    """
    letters = unicodedata.normalize("NFKD", name)
    plain = "".join(sign for sign in letters if not unicodedata.combining(sign))
    parts = [*re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", plain), plain]
    forms = {part.lower().rstrip("s") for part in parts} | {part.lower() for part in parts}
    return any(word in forms or word.rstrip("s") in forms for word in words)


class _Search:
    """Count how many records columns single out, until the time is up."""

    def __init__(self, table: Table, until: float) -> None:
        rows = table.plain
        codes = {name: _dense(rows[name].rank("dense").fill_null(0)) for name in rows.columns}
        differ = {name: c for name, c in codes.items() if np.ptp(c)}
        self.codes = dict(sorted(differ.items(), key=lambda item: -int(item[1].max())))
        self.until, self.looked, self.complete = until, 0, True

    def joined(self, known: Ints | None, name: str) -> Ints:
        """Number the combinations of what is numbered already with one more column."""
        added = self.codes[name]
        return added if known is None else known * (int(added.max()) + 1) + added

    def look(self, codes: Ints) -> tuple[float, int]:
        """Count the share of records that are alone with their number, and the numbers."""
        self.looked += 1
        counts = np.unique(codes, return_counts=True)[1]
        return float((counts == 1).sum() / len(codes)), len(counts)

    def keys(self, judged: Sequence[ColumnAdvice], linked: Mapping[str, set[str]]) -> KeySet:
        """Choose keys: of what others may know, one more while it singles out more persons.

        What others always know comes first, one column about each subject; then what they often
        know; then the rest. A column that singles out many by itself is too fine to be matched
        exactly: it is a key only where there is no other.
        """
        known = sorted((c for c in judged if c.role == "known"), key=_order)
        pool = [c for c in known if c.unique <= TOO_FINE] or known
        if not pool:
            unclear = [c for c in judged if c.role == "unclear"]
            return self._grown(
                KeySet((), 0.0),
                [c.name for c in unclear if c.values <= FEW_VALUES] or [c.name for c in unclear],
                linked,
            )
        first: dict[str, str] = {}
        for column in pool:
            rank, subject, *_ = _order(column)
            if rank == ALWAYS:
                first.setdefault(subject, column.name)
        chosen = KeySet((), 0.0)
        for name in first.values():
            if not linked.get(name, set()) & set(chosen.names):
                chosen = self._grown(chosen, [name], linked)
        for rank in (OFTEN, AT_TIMES):
            chosen = self._grown(chosen, [c.name for c in pool if _order(c)[0] == rank], linked)
        return chosen

    def _grown(self, chosen: KeySet, pool: list[str], linked: Mapping[str, set[str]]) -> KeySet:
        """Add the column that singles out most, again and again, as long as it singles out more."""
        codes: Ints | None = None
        for name in chosen.names:
            codes = _dense(self.joined(codes, name))
        reached = (0.0, 1) if codes is None else (chosen.unique, int(codes.max()) + 1)
        while len(chosen.names) < MOST_KEYS and chosen.unique < ENOUGH:
            taken = set(chosen.names)
            pool = [n for n in pool if n not in taken and not linked.get(n, set()) & taken]
            found: dict[str, tuple[float, int]] = {}
            for name in pool:
                # the first column of the pool is the best by itself, so that one is always found
                if (found or chosen.names) and time.perf_counter() > self.until:
                    self.complete = False
                    break
                found[name] = self.look(self.joined(codes, name))
            if not found or (chosen.names and not self.complete):
                break
            best = max(found, key=found.__getitem__)
            if found[best] <= reached:
                break
            reached = found[best]
            chosen = KeySet((*chosen.names, best), reached[0])
            codes = _dense(self.joined(codes, best))
        return chosen

    def sets(self) -> tuple[KeySet, ...]:
        """Find small sets that single out many records: the best few of each size."""
        best: list[KeySet] = []
        grown: dict[tuple[str, ...], Ints] = {(n,): codes for n, codes in self.codes.items()}
        for size in range(2, LARGEST_SET + 1):
            found: dict[tuple[str, ...], tuple[float, tuple[str, ...], str]] = {}
            for names, known in grown.items():
                for name in self.codes:
                    wider = tuple(sorted({*names, name}))
                    if len(wider) < size or wider in found:
                        continue
                    if time.perf_counter() > self.until:
                        self.complete = False
                        break
                    found[wider] = self.look(self.joined(known, name))[0], names, name
            ranked = sorted(found, key=lambda names: (-found[names][0], names))
            best += [KeySet(names, found[names][0]) for names in ranked[:MOST_KEY_SETS]]
            if not ranked or not self.complete or found[ranked[0]][0] == 1:
                break
            parents = {names: found[names][1:] for names in ranked[:BEAM]}
            grown = {n: _dense(self.joined(grown[p], added)) for n, (p, added) in parents.items()}
        return tuple(best)


def _dense(codes: Any) -> Ints:
    return np.unique(np.asarray(codes, np.int64), return_inverse=True)[1]


def resolve(
    table: Table, wanted_keys: Texts, wanted_sensitive: Texts
) -> tuple[tuple[str, ...], tuple[str, ...], list[str]]:
    """Turn the words ``auto`` (keys) and ``all`` (sensitive) into names; say what they became.

    A column of that name is meant, if there is one.
    """
    named = {"keys": as_names(wanted_keys), "sensitive": as_names(wanted_sensitive)}
    said = []
    modelled = table.schema.modelled
    if named["keys"] == (AUTO,) and AUTO not in modelled:
        chosen = keys(table, sensitive=named["sensitive"]).keys
        if not chosen:
            raise OptionError(
                "keys: no column could be proposed", hint="name what an attacker may know (--keys)"
            )
        named["keys"] = chosen
        said.append(
            f"keys = auto: {', '.join(chosen)} (proposed by names and uniqueness: see understudy "
            "keys)."
        )
    if named["sensitive"] == (ALL,) and ALL not in modelled:
        named["sensitive"] = tuple(
            name
            for name in modelled
            if name not in named["keys"] and table.schema[name].kind != "constant"
        )
        if not named["sensitive"]:
            raise OptionError(
                "sensitive: all columns are keys", hint="name fewer keys, or a sensitive column"
            )
        said.append(f"sensitive = all: {len(named['sensitive'])} columns, all but the keys.")
    return named["keys"], named["sensitive"], said


def as_names(names: Texts) -> tuple[str, ...]:
    """Take one name, or one of the words, for a list of it."""
    return (names,) if isinstance(names, str) else tuple(names)
