from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from parley.engine.gate.baseline import LOOK_BACK, Earlier, Outline, latest_passing, unfit, unfit_for
from parley.engine.gate.parameters import read_parameters
from parley.engine.gate.verdict import decide
from tests.factories.graded import graded

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
NOW = Outline(
    evaluation_id="m",
    subject="dataset",
    grading_hash="grader",
    split=None,
    run_source="ci",
    is_regraded=False,
    completed_at=NOON,
    rated_count=5,
)


def earlier(evaluation_id: str, hours: float = 1, **more: Any) -> Outline:
    return replace(NOW, evaluation_id=evaluation_id, completed_at=NOON - timedelta(hours=hours), **more)


@pytest.mark.parametrize(
    ("apart", "reason"),
    [
        ({"evaluation_id": "m"}, "is this evaluation itself"),
        ({"subject": "another"}, "is of another dataset or suite"),
        ({"grading_hash": "another"}, "was graded by other settings"),
        ({"split": "smoke"}, "ran another split"),
        ({"run_source": "trace-eval"}, "comes from live traffic (trace-eval)"),
        ({"is_regraded": True}, "was regraded"),
        ({"completed_at": None}, "did not complete"),
        ({"rated_count": 0}, "has no rated result"),
        ({"completed_at": NOON + timedelta(microseconds=1)}, "did not complete before this one"),
        ({"completed_at": NOON, "evaluation_id": "z"}, "did not complete before this one"),
    ],
)
def test_evaluation_that_measures_something_else_is_no_baseline(apart: dict[str, Any], reason: str) -> None:
    """C205, C211."""
    candidate = replace(earlier("a"), **apart)
    assert unfit_for(candidate, NOW) == reason


def test_one_rated_result_is_enough() -> None:
    assert unfit_for(earlier("a", rated_count=1), NOW) is None


def test_what_can_be_nobodys_baseline_is_told_without_another() -> None:
    assert unfit(NOW) is None
    assert unfit(replace(NOW, run_source="trace-eval")) == "comes from live traffic (trace-eval)"
    assert unfit(replace(NOW, completed_at=None, rated_count=0)) == "did not complete"


def test_equal_time_with_a_smaller_id_is_before() -> None:
    assert unfit_for(replace(earlier("a"), completed_at=NOON), NOW) is None


NO_REGRESSION = read_parameters([("noRegression", "1")])


def line(*averages: float) -> list[Earlier]:
    return [Earlier(graded([average], f"run {at}"), None) for at, average in enumerate(averages)]


def name_of(found: Any) -> str | None:
    return None if found is None else found.evaluation_id


def test_failing_evaluation_never_becomes_the_silent_baseline() -> None:
    assert name_of(latest_passing(NO_REGRESSION, line(9, 5, 5, 5))) == "run 0"
    now = graded([5])
    assert decide(NO_REGRESSION, now, latest_passing(NO_REGRESSION, line(9, 5, 5, 5))).verdict == "failed"
    # Against the latest one, the drop is forgotten after one evaluation.
    assert decide(NO_REGRESSION, now, line(9, 5)[-1].graded).verdict == "passed"


def test_passing_evaluation_moves_the_baseline_on() -> None:
    assert name_of(latest_passing(NO_REGRESSION, line(9, 5, "8.5"))) == "run 2"  # type: ignore[arg-type]


def test_first_evaluation_that_fails_its_floor_is_no_baseline() -> None:
    floor = read_parameters([("failUnder", "7"), ("noRegression", "1")])
    assert latest_passing(floor, line(5)) is None
    assert name_of(latest_passing(floor, line(5, 8))) == "run 1"


def test_recorded_verdict_counts_more_than_the_checks_of_today() -> None:
    good, bad = graded([9], "good"), graded([1], "bad")
    assert name_of(latest_passing(NO_REGRESSION, [Earlier(good, "passed"), Earlier(bad, "passed")])) == "bad"
    assert latest_passing(NO_REGRESSION, [Earlier(good, "failed")]) is None
    assert latest_passing(NO_REGRESSION, [Earlier(good, "inconclusive")]) is None


def test_only_the_last_ones_are_looked_at() -> None:
    assert name_of(latest_passing(NO_REGRESSION, line(9, *[5] * LOOK_BACK))) == f"run {LOOK_BACK}"
    assert name_of(latest_passing(NO_REGRESSION, line(9, *[5] * (LOOK_BACK - 1)))) == "run 0"


def test_five_small_drops_in_a_row_are_caught_by_a_pinned_baseline() -> None:
    drops = [graded([rating], f"run {at}") for at, rating in enumerate(["8.6", "8.2", "7.8", "7.4", "7.0"])]
    pinned = graded([9], "pinned")
    previous = [pinned, *drops[:-1]]
    assert {
        decide(NO_REGRESSION, now, before).verdict for now, before in zip(drops, previous, strict=True)
    } == {"passed"}
    assert [decide(NO_REGRESSION, now, pinned).verdict for now in drops] == ["passed"] + ["failed"] * 4
