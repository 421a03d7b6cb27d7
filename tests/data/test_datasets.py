"""The registry of real data sets, and all of them read as they are."""

import polars as pl
import pytest

import understudy as us
from understudy.data.datasets import dataset, registry
from understudy.errors import DataError
from understudy.measures import MEASURES
from understudy.options import declared

FAST = (("resamples", 5), ("permutations", 99), ("iterations", 5))
QUICK = {
    name: {option: n for option, n in FAST if option in declared(measure)}
    for name, measure in MEASURES.items()
}
ALONE = [n for n in registry() if not n.startswith(("adult_", "bank-marketing_", "randhie"))]


def test_registry_is_complete():
    for entry in registry().values():
        assert entry.source
        assert entry.licence
        assert (len(entry.sha256) == 64 and entry.taken_from) or entry.inside


def test_unknown_and_absent_and_changed(monkeypatch, tmp_path):
    with pytest.raises(DataError, match="adultt"):
        dataset("adultt_trn")
    monkeypatch.setenv("UNDERSTUDY_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(DataError, match="not here"):
        dataset("insurance").path()
    (tmp_path / "insurance.csv").write_text("a\n1\n")
    with pytest.raises(DataError, match="this is not the data set"):
        dataset("insurance").path()
    cached = tmp_path / "cache" / "understudy" / "data"
    cached.mkdir(parents=True)
    (tmp_path / "insurance.csv").rename(cached / "insurance.csv")
    with pytest.raises(DataError, match="cache"):
        dataset("insurance").path()


LARGE = ("acs_national2019_nist", "sd2011")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in LARGE else []) for n in ALONE]
)
def test_assess_every_data_set_as_it_is(real_data, name):
    """No special case for any: split, copy, assess; the copy is seen and fresh rows are not."""
    path = real_data(name)
    train, holdout = us.split(path, holdout=0.5, seed=1)
    made = us.synthesizer("independent", seed=1).fit(train).sample()
    result = us.assess(train, made, holdout=holdout, options=QUICK)
    # a table without numbers, whose rows are all alike, or whose columns follow from no others
    said = ("numbers", "No predicate holds", "none was found in training")
    for finding in result:
        assert finding.status == "ok" or any(w in finding.note for w in said), finding.note
    copy = us.assess(train, train, holdout=holdout, measures=["privacy.identical_matches"])
    assert copy["privacy.identical_matches"].value == 1


SOME = 4000
GENERATORS = ("copulagan", "ctgan", "gaussian_copula", "gretel", "mostly", "synthpop", "tvae")
PUBLISHED = [(base, generator) for base in ("adult", "bank-marketing") for generator in GENERATORS]


@pytest.mark.slow
@pytest.mark.parametrize(("base", "generator"), PUBLISHED)
def test_assess_every_published_generator(real_data, base, generator):
    """Whole copies are looked for in whole files, all else in some of their rows."""
    files = [real_data(f"{base}_{part}") for part in ("trn", generator, "val")]
    copies = ["privacy.identical_matches"]
    result = us.assess(*files[:2], holdout=files[2], measures=copies, options=QUICK)
    assert result[copies[0]].flagged == (generator == "synthpop")
    train, made, holdout = (
        pl.read_csv(f, infer_schema_length=None).sample(SOME, seed=1) for f in files
    )
    result = us.assess(train, made, holdout=holdout, options=QUICK)
    assert len(result) > 15
    others = (finding for finding in result if finding.measure != "fidelity.relations")
    assert all(finding.status == "ok" for finding in others)
    assert result["fidelity.relations"].status == ("ok" if base == "adult" else "not_applicable")


@pytest.mark.slow
@pytest.mark.parametrize("base", ["adult", "bank-marketing"])
@pytest.mark.parametrize("percent", range(10, 100, 10))
def test_assess_every_published_perturbation(real_data, base, percent):
    """Whole copies survive up to about two values in three replaced, and not beyond."""
    files = [real_data(f"{base}_{part}") for part in ("trn", f"flip{percent}", "val")]
    names = ["fidelity.total_variation", "privacy.identical_matches"]
    result = us.assess(*files[:2], holdout=files[2], measures=names, options=QUICK)
    assert all(finding.status == "ok" for finding in result)
    if percent != 70:
        assert result["privacy.identical_matches"].flagged == (percent < 70)
