from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.engine.gate.parameters import read_parameters
from parley.engine.gate.verdict import GateAnswer, Verdict, decide
from parley.engine.stats.graded import Graded
from tests.factories.graded import graded

THIRD = "3.333333333"


def asked(now: Graded, before: Graded | None = None, /, **query: str) -> GateAnswer:
    return decide(read_parameters(list(query.items())), now, before)


@dataclass(frozen=True)
class Rule:
    """One rule of the gate at one of its borders."""

    now: Any
    query: dict[str, str]
    verdict: Verdict
    before: Any = None


FALL_OF_SIX = [5, 5, 5, 5, 5, 5, 8, 8], [9, 8.9, 8.8, 8.7, 8.6, 8.5, 8, 8]
RULES = {
    "floor: equal passes": Rule([7, 7], {"failUnder": "7"}, "passed"),
    "floor: a hair under fails": Rule(["6.999999999", 7], {"failUnder": "7"}, "failed"),
    "floor: rounding up for display does not help": Rule([7, "6.99"], {"failUnder": "7"}, "failed"),
    "floor: decimals are exact": Rule(["0.1", "0.2", "0.3"], {"failUnder": "0.2"}, "passed"),
    "floor: thirds are exact": Rule([10, 0, 0], {"failUnder": THIRD}, "passed"),
    "floor: failed results pull down": Rule([10, 10, "failed"], {"failUnder": "7"}, "failed"),
    "floor: skipped ones do not": Rule([10, None], {"failUnder": "10"}, "passed"),
    "floor: 0 is a floor": Rule([0], {"failUnder": "0"}, "passed"),
    "nothing rated: floor 0 fails": Rule([None], {"failUnder": "0"}, "failed"),
    "nothing rated: no results at all": Rule([], {"failUnder": "0"}, "failed"),
    "nothing rated: all failed": Rule(["failed"], {"failUnder": "0"}, "failed"),
    "nothing rated: NaN is no rating": Rule(["NaN"], {"failUnder": "0"}, "failed"),
    "nothing rated: coverage 0 fails": Rule([None], {"minCoverage": "0"}, "failed"),
    "nothing rated: first run fails too": Rule([None], {"noRegression": "1"}, "failed"),
    "nothing rated: regressed cases": Rule([None], {"maxRegressedCases": "5"}, "failed", [9]),
    "nothing rated: significance": Rule([None], {"significance": "0.05"}, "failed", [9]),
    "nothing rated: pass rate 0 fails": Rule([None], {"minPassRate": "0"}, "failed"),
    "regression: none": Rule([8, 8], {"noRegression": "1"}, "passed", [8, 8]),
    "regression: exactly the tolerance passes": Rule(["7.5"], {"noRegression": "1"}, "passed", [8]),
    "regression: a hair more fails": Rule(["7.499999999"], {"noRegression": "1"}, "failed", [8]),
    "regression: decimal border": Rule(
        ["7.9", "7.9", "7.9"], {"noRegression": "1", "tolerance": "0.1"}, "passed", [8, 8, 8]
    ),
    "regression: tolerance 0, equal": Rule([8], {"noRegression": "1", "tolerance": "0"}, "passed", [8]),
    "regression: tolerance 0, a hair less": Rule(
        ["7.999999999"], {"noRegression": "1", "tolerance": "0"}, "failed", [8]
    ),
    "regression: a rise passes": Rule([10], {"noRegression": "1", "tolerance": "0"}, "passed", [1]),
    "regression: first run passes": Rule([1], {"noRegression": "1"}, "passed"),
    "regression: failed ones count": Rule([8, "failed"], {"noRegression": "1"}, "failed", [8, 8]),
    "pass rate: equal passes": Rule([9, 9, 9, 1], {"minPassRate": "0.75"}, "passed"),
    "pass rate: a hair more is asked": Rule([9, 9, 9, 1], {"minPassRate": "0.750000001"}, "failed"),
    "pass rate: failed ones did not pass": Rule([9, "failed"], {"minPassRate": "0.6"}, "failed"),
    "pass rate: skipped ones are left out": Rule([9, None], {"minPassRate": "1"}, "passed"),
    "regressed: as many as allowed": Rule([1, 9, 9], {"maxRegressedCases": "1"}, "passed", [9, 9, 9]),
    "regressed: one more": Rule([1, 1, 9], {"maxRegressedCases": "1"}, "failed", [9, 9, 9]),
    "regressed: none allowed, none there": Rule([9], {"maxRegressedCases": "0"}, "passed", [9]),
    "regressed: improvements do not make up": Rule(
        [1, 10, 10], {"maxRegressedCases": "0"}, "failed", [9, 5, 5]
    ),
    "regressed: first run passes": Rule([1], {"maxRegressedCases": "0"}, "passed"),
    "regressed: nothing pairs is not decided": Rule(
        {"new": 9}, {"maxRegressedCases": "0"}, "inconclusive", {"old": 9}
    ),
    "coverage: equal passes": Rule([9, 9, 9, None], {"minCoverage": "0.75"}, "passed"),
    "coverage: one less fails": Rule([9, 9, None, None], {"minCoverage": "0.75"}, "failed"),
    "coverage: failed ones are covered": Rule([9, "failed"], {"minCoverage": "1"}, "passed"),
    "coverage: open ones are not": Rule([9, "open"], {"minCoverage": "1"}, "failed"),
    "coverage: NaN is not": Rule([9, "NaN"], {"minCoverage": "1"}, "failed"),
    "coverage: missing repetitions are not": Rule([[9, 9], [9]], {"minCoverage": "1"}, "failed"),
    "significance: six falls of six": Rule(
        FALL_OF_SIX[0], {"significance": "0.05"}, "failed", FALL_OF_SIX[1]
    ),
    "significance: equal to the level fails": Rule(
        FALL_OF_SIX[0], {"significance": "0.015625"}, "failed", FALL_OF_SIX[1]
    ),
    "significance: a hair under the level passes": Rule(
        FALL_OF_SIX[0], {"significance": "0.015624999"}, "passed", FALL_OF_SIX[1]
    ),
    "significance: rises pass": Rule(FALL_OF_SIX[1], {"significance": "0.5"}, "passed", FALL_OF_SIX[0]),
    "significance: five changed pairs decide nothing": Rule(
        [1, 1, 1, 1, 1, 8, 8, 8], {"significance": "0.05"}, "inconclusive", [9, 9, 9, 9, 9, 8, 8, 8]
    ),
    "significance: ups and downs": Rule(
        [1, 9, 1, 9, 1, 9], {"significance": "0.05"}, "passed", [9, 1, 9, 1, 9, 1]
    ),
    "significance: nothing pairs is not decided": Rule(
        {"new": 9}, {"significance": "0.05"}, "inconclusive", {"old": 9}
    ),
    "significance: first run passes": Rule([1], {"significance": "0.05"}, "passed"),
    "verdict: a failure outweighs doubt": Rule(
        [1] * 5, {"failUnder": "7", "significance": "0.05"}, "failed", [9] * 5
    ),
    "verdict: doubt outweighs passing": Rule(
        [9] * 5, {"failUnder": "7", "significance": "0.05"}, "inconclusive", [9] * 5
    ),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_rule(rule: Rule) -> None:
    before = None if rule.before is None else graded(rule.before, "before")
    answer = asked(graded(rule.now), before, **rule.query)
    assert answer.verdict == rule.verdict
    assert answer.passed is (rule.verdict == "passed")


def test_checks_stand_in_the_order_of_the_contract_and_only_those_asked_for() -> None:
    query = {
        "significance": "0.05",
        "minCoverage": "1",
        "maxRegressedCases": "1",
        "minPassRate": "0.5",
        "noRegression": "1",
        "failUnder": "7",
    }
    names = [check.check for check in asked(graded([9]), graded([9]), **query).checks]
    assert names == [
        "fail-under",
        "no-regression",
        "pass-rate",
        "regressed-cases",
        "coverage",
        "significance",
    ]
    assert [check.check for check in asked(graded([9]), failUnder="7").checks] == ["fail-under"]


def test_threshold_of_no_regression_is_the_mean_of_the_baseline() -> None:
    (check,) = asked(graded([7]), graded([8, 9], "before"), noRegression="1").checks
    assert (check.threshold, check.actual, check.passed) == (Fraction(17, 2), Fraction(7), False)
    assert check.detail == "The mean fell by 1.5, more than the tolerance of 0.5."


def test_first_run_says_so_and_passes_its_regression_checks_alone() -> None:
    answer = asked(graded([1]), noRegression="1", maxRegressedCases="0", significance="0.05", failUnder="7")
    assert [(check.check, check.passed) for check in answer.checks] == [
        ("fail-under", False),
        ("no-regression", True),
        ("regressed-cases", True),
        ("significance", True),
    ]
    assert (answer.first_run, answer.baseline_id, answer.baseline_average) == (True, None, None)
    assert "no baseline" in answer.checks[1].detail


def test_baseline_is_named_whether_or_not_a_check_looks_at_it() -> None:
    answer = asked(graded([8]), graded([9], "before"), failUnder="7")
    assert (answer.first_run, answer.baseline_id, answer.baseline_average) == (False, "before", Fraction(9))


def test_unrated_results_are_counted_in_the_answer() -> None:
    """C207: a mean that rises because cases are left out is told with the number of those left out."""
    answer = asked(graded([10, None, None, "failed"]), failUnder="5")
    assert (answer.counts.rated, answer.counts.failed, answer.counts.skipped) == (1, 1, 2)
    assert answer.counts.coverage == Fraction(1, 2)


def test_no_result_at_all_fails_every_check() -> None:
    """C201."""
    answer = asked(graded([]), failUnder="0", minCoverage="0", noRegression="1", minPassRate="0")
    assert [check.passed for check in answer.checks] == [False] * 4
    assert {check.detail for check in answer.checks} == {"No result was rated."}


def test_small_sample_is_told_beside_every_verdict() -> None:
    """C208."""
    assert "5 cases are too few" in asked(graded([9] * 5), failUnder="7").note
    assert "would be noticed" in asked(graded([9, 8, 7, 9, 8, 7, 10]), failUnder="7").note


@given(
    st.lists(st.integers(0, 10), min_size=1, max_size=20),
    st.lists(st.integers(0, 10), min_size=1, max_size=20),
)
def test_same_ratings_give_the_same_answer(now: list[int], before: list[int]) -> None:
    """C208: the verdict is computed from stored ratings, so noise of the judge cannot flip it."""
    query = {"noRegression": "1", "significance": "0.1", "maxRegressedCases": "3", "failUnder": "5"}
    assert asked(graded(now), graded(before), **query) == asked(graded(now), graded(before), **query)


@given(st.lists(st.integers(0, 10), min_size=1, max_size=20), st.integers(0, 19), st.integers(0, 10))
def test_lower_rating_never_turns_a_failing_floor_green(ratings: list[int], at: int, lower: int) -> None:
    worse = list(ratings)
    worse[at % len(worse)] = min(worse[at % len(worse)], lower)
    query = {"failUnder": "6", "minPassRate": "0.6"}
    if asked(graded(ratings), **query).verdict == "failed":
        assert asked(graded(worse), **query).verdict == "failed"


@pytest.mark.parametrize(
    ("now", "query", "detail"),
    [
        (["6.996"], {"failUnder": "7"}, "The mean rating 6.996 is under 7."),
        ([7], {"failUnder": "7"}, "The mean rating 7 is at least 7."),
        ([9, 1, 1], {"minPassRate": "0.5"}, "The pass rate 0.33 is under 0.5."),
        ([9, None], {"minCoverage": "1"}, "The coverage 0.5 is under 1."),
    ],
)
def test_detail_tells_figures_that_fit_the_verdict(now: Any, query: dict[str, str], detail: str) -> None:
    assert asked(graded(now), **query).checks[0].detail == detail


def test_gate_cannot_be_asked_without_a_check() -> None:
    from parley.engine.gate.parameters import GateParameters

    with pytest.raises(ValueError, match="without a check"):
        decide(GateParameters(), graded([9]), None)
