"""The gate over thousands of simulated pipelines: how often it cries wolf, and how often it sees one."""

from __future__ import annotations

import math

import numpy
import pytest

from parley.engine.gate.parameters import read_parameters
from parley.engine.gate.verdict import Verdict, decide
from tests.factories.graded import graded

PIPELINES, CASES, LEVEL = 2_000, 50, 0.05
NOTICED = read_parameters([("significance", str(LEVEL))])


def share_failed(seed: int, cases_down: int = 0, by: float = 0.0) -> float:
    """The share of pipelines that the gate fails. Cases have their own levels, ratings noise of sd 1."""
    chance = numpy.random.default_rng(seed)
    failed = 0
    for _ in range(PIPELINES):
        levels = chance.uniform(4, 9, CASES)
        fallen = levels - numpy.array([by] * cases_down + [0.0] * (CASES - cases_down))
        before, now = (numpy.clip(each + chance.normal(0, 1, CASES), 0, 10) for each in (levels, fallen))
        failed += verdict(now, before) == "failed"
    return failed / PIPELINES


def verdict(now: numpy.ndarray, before: numpy.ndarray) -> Verdict:
    written = [graded([f"{rating:.3f}" for rating in each]) for each in (now, before)]
    return decide(NOTICED, written[0], written[1]).verdict


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_equal_versions_raise_no_more_alarms_than_the_level_allows() -> None:
    error = math.sqrt(LEVEL * (1 - LEVEL) / PIPELINES)
    assert share_failed(seed=3) <= LEVEL + 3 * error


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize(("cases_down", "by", "least"), [(15, 3.0, 0.90), (50, 1.0, 0.95)])
def test_real_falls_are_noticed(cases_down: int, by: float, least: float) -> None:
    assert share_failed(seed=2, cases_down=cases_down, by=by) >= least


def test_one_case_falling_to_nothing_among_fifty_is_caught_by_its_own_check() -> None:
    before, now = graded([10] * 50), graded([10] * 49 + [0])
    told = {
        name: decide(read_parameters([(name, text)]), now, before).verdict
        for name, text in (("noRegression", "1"), ("significance", "0.05"), ("maxRegressedCases", "0"))
    }
    assert told == {"noRegression": "passed", "significance": "inconclusive", "maxRegressedCases": "failed"}


def test_one_rated_case_of_fifty_fails_the_coverage() -> None:
    now = graded([10] + [None] * 49)
    assert decide(read_parameters([("failUnder", "7")]), now, None).verdict == "passed"
    assert decide(read_parameters([("failUnder", "7"), ("minCoverage", "1")]), now, None).verdict == "failed"
