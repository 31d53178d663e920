"""How a test's last two ends make it broke, failing, recovered or passing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from parley.server.agentic_tests.overview import End, health_of

NOON = datetime(2027, 1, 31, 12, tzinfo=UTC)


def end(test: int, outcome: str | None, minute: int = 0) -> End:
    return End(
        test_id=UUID(int=test),
        name=f"Test {test}",
        run_id=UUID(int=1000 + minute),
        outcome=outcome,
        finished_at=NOON + timedelta(minutes=minute),
    )


@pytest.mark.parametrize(
    ("last", "before", "change"),
    [
        ("success", ["success"], "passing"),
        ("success", [], "passing"),
        ("success", ["loss"], "recovered"),
        ("success", [None], "recovered"),
        ("loss", ["success"], "broke"),
        ("incomplete", [], "broke"),
        (None, ["success"], "broke"),
        ("interrupted", ["loss"], "failing"),
        (None, [None], "failing"),
    ],
)
def test_last_two_ends_tell_how_a_test_stands(
    last: str | None, before: list[str | None], change: str
) -> None:
    [found] = health_of([end(1, last, 5), *(end(1, outcome) for outcome in before)])
    assert (found.change, found.last.outcome) == (change, last)


def test_last_to_end_comes_first_and_each_test_once() -> None:
    ends = [end(1, "success", 1), end(1, "loss", 0), end(2, "loss", 9), end(3, "success", 4)]
    assert [one.last.name for one in health_of(ends)] == ["Test 2", "Test 3", "Test 1"]
