"""The policy gate: three outcomes, decided on the interval; bad policies say where."""

from xml.etree import ElementTree

import pytest

from understudy.errors import OptionError
from understudy.measures import MEASURES
from understudy.workflows.policy import EXIT, Rule, loads, to_junit, worst

NAME = "privacy.closest_record"


def found(low, high, **more):
    return {
        "measure": NAME, "status": "ok", "value": (low + high) / 2, "interval": [low, high],
        "reference": 0.5, "parts": [{"name": "age", "value": 0.1, "interval": [0.05, 0.2]}], **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("bounds", "interval", "outcome"),
    [
        ({"upper": 0.52}, (0.49, 0.51), "PASS"),
        ({"upper": 0.52}, (0.49, 0.52), "PASS"),
        ({"upper": 0.52}, (0.49, 0.5200001), "INCONCLUSIVE"),
        ({"upper": 0.52}, (0.52, 0.53), "INCONCLUSIVE"),
        ({"upper": 0.52}, (0.5200001, 0.53), "FAIL"),
        ({"lower": 0.9}, (0.9, 0.95), "PASS"),
        ({"lower": 0.9}, (0.89, 0.95), "INCONCLUSIVE"),
        ({"lower": 0.9}, (0.8, 0.9), "INCONCLUSIVE"),
        ({"lower": 0.9}, (0.8, 0.89), "FAIL"),
        ({"ratio_to_reference": 1.1}, (0.5, 0.55), "PASS"),
        ({"ratio_to_reference": 1.1}, (0.56, 0.6), "FAIL"),
        ({"lower": 0.4, "upper": 0.6}, (0.45, 0.7), "INCONCLUSIVE"),
        ({"lower": 0.4, "upper": 0.6}, (0.61, 0.7), "FAIL"),
    ],
)
def test_the_interval_decides(bounds, interval, outcome):
    assert Rule(NAME, **bounds).judge(found(*interval)).outcome == outcome


@pytest.mark.parametrize(
    ("finding", "why"),
    [
        (None, "not measured"),
        (found(0, 0, status="failed", note="no memory"), "failed: no memory"),
        (found(0, 0, status="not_applicable", note="needs a holdout"), "not applicable"),
        (found(0, 0, interval=None), "no interval"),
    ],
)
def test_what_is_not_known_never_passes(finding, why):
    verdict = Rule(NAME, upper=1.0).judge(finding)
    assert verdict.outcome == "INCONCLUSIVE"
    assert why in verdict.why


def test_a_ratio_needs_a_reference_and_a_part_must_be_there():
    lost = Rule(NAME, ratio_to_reference=2.0).judge(found(0, 0, reference=None))
    assert (lost.outcome, "no reference" in lost.why) == ("INCONCLUSIVE", True)
    assert Rule(NAME, part="age", upper=0.2).judge(found(0.9, 1)).outcome == "PASS"
    assert "no part 'sex'" in Rule(NAME, part="sex", upper=0.2).judge(found(0.9, 1)).why


def test_required_measures_are_undecided_where_they_are_not_there():
    policy = loads(f'required = ["{NAME}"]')
    assert [v.outcome for v in policy.judge([found(0, 1)])] == ["PASS"]
    assert [(v.outcome, v.why) for v in policy.judge([])] == [
        ("INCONCLUSIVE", "it was not measured")
    ]
    (failed,) = policy.judge([found(0, 1, status="failed", note="no memory")])
    assert (failed.outcome, failed.why) == ("INCONCLUSIVE", "it is failed: no memory")
    assert failed.next


def test_the_worst_outcome_is_the_exit_status():
    assert EXIT[worst(["PASS", "FAIL", "INCONCLUSIVE"])] == 1
    assert EXIT[worst(["PASS", "INCONCLUSIVE"])] == 3
    assert EXIT[worst(["PASS"])] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no rule"),
        ("[[rule]", "line 1"),
        ("vesion = 1\n[[rule]]", "line 1: unknown key 'vesion'"),
        ("version = 2\n[[rule]]", "version 2"),
        ("\n[[rule]]\nupper = 1", "line 2: a rule without a measure"),
        (f'[[rule]]\nmeasure = "{NAME}"', "line 1: a rule without a bound"),
        (f'[[rule]]\nmeasure = "{NAME}"\n\nuper = 1', "line 4: unknown key 'uper'"),
        (f'[[rule]]\nmeasure = "{NAME}"\nupper = "high"', "line 3: upper = 'high'"),
        (
            f'[[rule]]\nmeasure = "{NAME}"\nupper = nan',
            "line 3: it holds a number that is not finite",
        ),
        (
            f'[[rule]]\nmeasure = "{NAME}"\nupper = 1{"0" * 40}',
            "line 3: it holds a number with too",
        ),
        (f'[[rule]]\nmeasure = "{NAME}"\nratio_to_reference = 0', "line 3: ratio_to_reference"),
        (f'[[rule]]\nmeasure = "{NAME}"\nupper = 0.4\nlower = 0.6', "nothing can pass"),
        ('[[rule]]\nmeasure = "privacy.closest"\nupper = 1', "no measure 'privacy.closest'"),
        ('required = ["privacy.closest"]', "line 1: required: there is no measure"),
    ],
)
def test_bad_policies_say_where(text, message):
    with pytest.raises(OptionError) as error:
        loads(text, measures={NAME: MEASURES[NAME]})
    assert message in str(error.value)
    assert error.value.hint


def test_junit_is_read_by_a_parser():
    policy = loads(
        f'[[rule]]\nmeasure = "{NAME}"\nupper = 0.52\n[[rule]]\nmeasure = "{NAME}"\nlower = 0.9\n'
        f'[[rule]]\nmeasure = "a<b"\nupper = 1'
    )
    suite = ElementTree.fromstring(
        to_junit([v.to_dict() for v in policy.judge([found(0.5, 0.51)])]).encode()
    )
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    assert [[child.tag for child in case] for case in suite] == [[], ["failure"], ["error"]]
    assert suite[2].get("classname") == "a<b"


def by_sex(**levels):
    parts = [
        {"name": f"sex = {level}", "value": sum(i or (0, 0)) / 2, "interval": i and list(i)}
        for level, i in levels.items()
    ]
    return found(0.4, 0.5, parts=[{"name": "age", "value": 0.1}, *parts])


@pytest.mark.parametrize(
    ("levels", "outcome", "named"),
    [
        ({"f": (0.4, 0.5), "m": (0.4, 0.52)}, "PASS", "sex = m"),
        ({"f": (0.4, 0.5), "m": (0.53, 0.6)}, "FAIL", "sex = m"),
        ({"f": (0.5, 0.53), "m": (0.53, 0.6)}, "FAIL", "sex = m"),
        ({"f": (0.5, 0.53), "m": (0.4, 0.5)}, "INCONCLUSIVE", "sex = f"),
        ({"f": None, "m": (0.4, 0.5)}, "INCONCLUSIVE", "sex = f: it has no interval"),
        ({}, "INCONCLUSIVE", "--by sex"),
    ],
)
def test_a_rule_by_levels_takes_the_worst_of_them(levels, outcome, named):
    verdict = Rule(NAME, by="sex", upper=0.52).judge(by_sex(**levels))
    assert (verdict.outcome, named in verdict.why) == (outcome, True)
    assert verdict.rule.startswith(f"{NAME} for each sex")


@pytest.mark.parametrize(
    ("provenance", "outcome"),
    [
        ({"epsilon_spent": 1.0}, "PASS"),
        ({"epsilon_spent": 1.01}, "FAIL"),
        ({}, "INCONCLUSIVE"),
        (None, "INCONCLUSIVE"),
    ],
)
def test_epsilon_is_what_the_release_says_it_spent(provenance, outcome):
    (verdict,) = loads("maximum_epsilon = 1").judge([], provenance)
    assert verdict.outcome == outcome
    assert bool(verdict.next) == (outcome != "PASS")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("maximum_epsilon = 0", "line 1"),
        ("maximum_epsilon = true", "no number"),
        (f'[[rule]]\nmeasure = "{NAME}"\npart = "a"\nby = "b"\nupper = 1', "part and by"),
        (f'[[rule]]\nmeasure = "{NAME}"\nby = 3\nupper = 1', "by = 3"),
    ],
)
def test_what_a_policy_cannot_mean_is_refused(text, words):
    with pytest.raises(OptionError, match=words):
        loads(text)


def test_what_did_not_pass_says_what_to_do_next():
    policy = loads(f'[[rule]]\nmeasure = "{NAME}"\nupper = 0.52')
    (passed,) = policy.judge([found(0.4, 0.5)])
    (failed,) = policy.judge([found(0.6, 0.7, unit="fraction")], {"method": "cart"})
    assert "next" not in passed.to_dict()
    assert any("minbucket" in step for step in failed.to_dict()["next"])


@pytest.mark.parametrize(
    ("bounds", "interval", "outcome"),
    [
        ({"ratio_to_reference": 0.9}, (0.45, 0.6), "PASS"),
        ({"ratio_to_reference": 0.9}, (0.0, 0.44), "FAIL"),
        ({"ratio_to_reference": 0.9}, (0.44, 0.6), "INCONCLUSIVE"),
        ({"difference_to_reference": 0.1}, (0.4, 0.6), "PASS"),
        ({"difference_to_reference": 0.1}, (0.3, 0.39), "FAIL"),
    ],
)
def test_where_higher_is_better_the_reference_bounds_from_below(bounds, interval, outcome):
    assert Rule(NAME, **bounds).judge(found(*interval, better="higher")).outcome == outcome


def test_a_difference_can_be_kept_to_where_the_reference_is_nothing():
    none = found(0, 0.004, reference=0.0)
    assert Rule(NAME, difference_to_reference=0.01).judge(none).outcome == "PASS"
    assert Rule(NAME, ratio_to_reference=1.2).judge(none).outcome == "INCONCLUSIVE"


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ('measure = "privacy.closest_record"\nupper = 52', "line 3.*between 0 and 1"),
        ('measure = "privacy.closest_record"\nlower = 1.5', "line 3.*between 0 and 1"),
        ('measure = "privacy.closest_record"\nupper = ' + "9" * 400, "line 3.*too many digits"),
        ('measure = "privacy.closest_record"\ndifference_to_reference = -1', "line 3"),
        ('measure = "privacy.closest_recor"\nupper = 0.5', "closest_record"),
    ],
)
def test_a_bound_that_means_nothing_is_refused_with_its_line(rule, words):
    with pytest.raises(OptionError, match=words):
        loads(f"[[rule]]\n{rule}", measures=MEASURES)


def test_the_starting_policy_holds_for_the_measures_there_are():
    from understudy.cli.policy import START

    assert loads(START, measures=MEASURES).rules


@pytest.mark.parametrize(
    ("text", "line"), [("version = 2", 1), ("\n\nversion = true\n", 3), ("", 1)]
)
def test_a_policy_as_a_whole_is_refused_with_a_line(text, line):
    with pytest.raises(OptionError, match=f"line {line}"):
        loads(text)


def test_a_level_that_was_not_measured_is_never_a_pass():
    finding = by_sex(f=(0.4, 0.5))
    finding["parts"].append({"name": "sex = 1 level not measured alone", "value": None})
    verdict = Rule(NAME, by="sex", upper=0.52).judge(finding)
    assert verdict.outcome == "INCONCLUSIVE"
    assert "not measured alone" in verdict.why


def test_junit_stands_what_xml_cannot_hold_and_tells_the_reason():
    finding = by_sex(**{"a\x0bb": (0.6, 0.7)})
    policy = loads(f'[[rule]]\nmeasure = "{NAME}"\nby = "sex"\nupper = 0.52\nreason = "so"')
    text = to_junit([v.to_dict() for v in policy.judge([finding])])
    failure = ElementTree.fromstring(text).find("testcase/failure")
    assert "\ufffd" in failure.get("message")
    assert failure.text.startswith("so")
    assert policy.judge([finding])[0].to_dict()["reason"] == "so"
