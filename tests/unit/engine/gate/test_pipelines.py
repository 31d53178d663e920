"""The gate over thousands of simulated pipelines: how often it cries wolf, and how often it sees one."""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction

import numpy
import pytest

from parley.engine.gate.parameters import read_parameters
from parley.engine.gate.verdict import MIN_CHANGED, Verdict, decide
from parley.engine.stats.signed_rank import signed_rank
from tests.factories.graded import graded

PIPELINES, CASES, LEVEL = 2_000, 50, 0.05
SEEDS = range(1, 51)
NOTICED = read_parameters([("significance", str(LEVEL))])


def pipelines(seed: int, cases_down: int = 0, by: float = 0.0) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Ratings now and before of PIPELINES pipelines. Cases have their own levels, ratings noise of sd 1."""
    chance, shape = numpy.random.default_rng(seed), (PIPELINES, CASES)
    levels = chance.uniform(4, 9, shape)
    fallen = levels - numpy.array([by] * cases_down + [0.0] * (CASES - cases_down))
    now, before = (numpy.clip(each + chance.normal(0, 1, shape), 0, 10) for each in (fallen, levels))
    return now, before


def failing(now: numpy.ndarray, before: numpy.ndarray) -> numpy.ndarray:
    """Which pipelines the gate fails: the sum of the ranks that rose is at most the largest that fails.

    Ratings are not rounded, so that only those cut off at 0 or 10 are equal. That `decide` says the same
    is tested apart: asking it about a hundred thousand pipelines takes minutes.
    """
    moved = now - before
    sizes = numpy.where(moved == 0, numpy.inf, abs(moved))
    ranks = sizes.argsort().argsort() + 1
    rose: numpy.ndarray = (ranks * (moved > 0)).sum(axis=1)
    found: numpy.ndarray = rose <= _BORDERS[(moved != 0).sum(axis=1)]
    return found


def border(changed: int) -> int:
    """The largest sum of ranks that rose which fails among `changed` pairs without ties, by the engine."""
    sums = range(changed * (changed + 1) // 2)
    return bisect_right(sums, LEVEL, key=lambda rose: signed_rank(signs_of(rose, changed)).p_fell) - 1


def signs_of(rose: int, changed: int) -> list[Fraction]:
    """Differences of the sizes 1 to `changed` whose rises sum to `rose`."""
    found = []
    for size in range(changed, 0, -1):
        up = rose >= size
        rose -= size if up else 0
        found.append(Fraction(size if up else -size))
    return found


def verdict(now: numpy.ndarray, before: numpy.ndarray) -> Verdict:
    written = [graded([f"{rating:.9f}" for rating in each]) for each in (now, before)]
    return decide(NOTICED, written[0], written[1]).verdict


@pytest.fixture(scope="module", autouse=True)
def borders() -> None:
    _BORDERS[:] = [border(changed) if changed >= MIN_CHANGED else -1 for changed in range(CASES + 1)]


_BORDERS = numpy.full(CASES + 1, -1)


def test_gate_says_what_the_sum_of_ranks_says() -> None:
    now, before = pipelines(seed=1, cases_down=15, by=1.0)
    expected = ["failed" if failed else "passed" for failed in failing(now, before)[:60]]
    assert [verdict(now[at], before[at]) for at in range(60)] == expected
    assert {"failed", "passed"} == set(expected)


def test_equal_versions_raise_no_more_alarms_than_the_level_allows() -> None:
    """Fifty times 2,000 pipelines. One block in 740 lies past three standard errors by chance alone."""
    shares = [failing(*pipelines(seed)).mean() for seed in SEEDS]
    error = math.sqrt(LEVEL * (1 - LEVEL) / PIPELINES)
    assert numpy.mean(shares) <= LEVEL + 3 * error / math.sqrt(len(SEEDS))
    assert sum(share > LEVEL + 3 * error for share in shares) <= 1


@pytest.mark.parametrize(("cases_down", "by", "least"), [(15, 3.0, 0.90), (50, 1.0, 0.95)])
@pytest.mark.parametrize("seed", SEEDS[:5])
def test_real_falls_are_noticed(seed: int, cases_down: int, by: float, least: float) -> None:
    assert failing(*pipelines(seed, cases_down, by)).mean() >= least


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
