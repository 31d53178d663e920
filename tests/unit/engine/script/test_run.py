"""A run plays every attempt, keeps to its slots and locks, tells its progress, and ends in one status."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.engine.script.attempt import Surroundings
from parley.engine.script.fakes import ScriptedApp, ScriptedJudge, answers
from parley.engine.script.faults import Phase
from parley.engine.script.ports import Command, Context, Execution, Limits
from parley.engine.script.progress import Listener, Progress
from parley.engine.script.reading import read_suite
from parley.engine.script.record import ErrorRecord, RunRecord
from parley.engine.script.run import RunPlan, run
from parley.engine.script.standing import attempt_status
from parley.engine.script.status import RANKED, Status, counts_of, highest
from parley.engine.script.work import Stopping
from tests.unit.engine.script.stage import AMPLE, SHORT, LoopClock, new_ids


class Busy(ScriptedApp):
    """Counts how many attempts are in it at once, and by lock."""

    def __init__(self, wait_s: float = 0.01) -> None:
        super().__init__(verification=None)
        self.wait_s = wait_s
        self.inside: list[str] = []
        self.most = 0
        self.together: set[frozenset[str]] = set()
        self.sessions: list[str] = []
        self.entered: Callable[[], None] = lambda: None

    async def execute(self, context: Context, command: Command) -> Execution:
        self.inside.append(context.case.id)
        self.sessions.append(context.session_id)
        self.most = max(self.most, len(self.inside))
        self.together.add(frozenset(self.inside))
        self.entered()
        try:
            await asyncio.sleep(self.wait_s)
        finally:
            self.inside.remove(context.case.id)
        return answers("x" if context.case.id != "bad" else "")


def cases(*ids: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"id": one, "steps": [{"message": "x", "expect": {"type": "answer"}}], **fields} for one in ids]


async def ran(
    app: ScriptedApp,
    given_cases: list[dict[str, Any]],
    *,
    concurrency: int = 8,
    repetitions: int | None = None,
    listener: Listener | None = None,
    stopping: Stopping | None = None,
    limits: Limits = AMPLE,
) -> RunRecord:
    suite = read_suite({"id": "s", "cases": given_cases})
    plan = RunPlan(
        suite=suite, run_id="run-1", cases=suite.cases, concurrency=concurrency, repetitions=repetitions
    )
    around = Surroundings(
        app=app, judge=ScriptedJudge(), clock=LoopClock(), limits=limits, stopping=stopping or Stopping()
    )
    return await run(plan, around, new_ids(), listener)


async def test_every_repetition_is_an_attempt_with_a_session_of_its_own() -> None:
    app = Busy()
    record = await ran(app, [*cases("a", repetitions=3), *cases("b")])
    assert [(one.case_id, one.repetition) for one in record.attempts] == [
        ("a", 1),
        ("a", 2),
        ("a", 3),
        ("b", 1),
    ]
    assert len(set(app.sessions)) == 4
    assert (record.status, record.counts.passed, record.counts.total) == ("passed", 4, 4)
    assert RunRecord.of_wire(record.wire()) == record
    again = await ran(Busy(), cases("a", repetitions=3), repetitions=2)
    assert again.counts.total == 2


async def test_no_more_attempts_at_once_than_there_are_slots() -> None:
    app = Busy()
    await ran(app, cases("a", "b", "c", "d", "e"), concurrency=2)
    assert app.most == 2


async def test_cases_with_one_lock_are_never_played_together_and_keep_no_slot_while_they_wait() -> None:
    app = Busy()
    await ran(app, [*cases("a", "b", "c", lock="orders"), *cases("d", "e")], concurrency=3)
    assert not any(len(together & {"a", "b", "c"}) > 1 for together in app.together)
    assert frozenset({"a", "d", "e"}) in app.together


async def test_one_failure_leaves_the_others_alone() -> None:
    record = await ran(Busy(), cases("a", "bad", "b"))
    assert [one.status for one in record.attempts] == ["passed", "failed", "passed"]
    assert record.status == "failed"


async def test_stop_cancels_what_runs_and_keeps_the_set_whole() -> None:
    stopping, app = Stopping(), Busy(wait_s=60)
    app.entered = stopping.request
    record = await ran(app, cases("a", "b", "c"), concurrency=1, stopping=stopping)
    assert [one.status for one in record.attempts] == ["cancelled"] * 3
    assert app.calls == ["params", "setup", "teardown"]


async def test_cancelling_the_task_cleans_up_and_then_raises() -> None:
    app, entered = Busy(wait_s=60), asyncio.Semaphore(0)
    app.entered = entered.release
    task = asyncio.create_task(ran(app, cases("a", "b")))
    await entered.acquire()
    await entered.acquire()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert app.calls.count("teardown") == 2
    assert app.inside == []


async def test_progress_is_complete_in_order_and_counts() -> None:
    heard: list[Progress] = []
    await ran(Busy(), cases("a", "bad"), listener=heard.append)
    assert [event.sequence for event in heard] == list(range(1, len(heard) + 1))
    assert (heard[0].type, heard[-1].type) == ("run-started", "run-completed")
    assert heard[-1].counts == counts_of(["passed", "failed"])
    assert sum(event.type == "case-completed" for event in heard) == 2
    assert all(Progress.of_wire(event.wire()) == event for event in heard)


async def test_listener_that_raises_marks_a_reporting_error_and_nothing_else() -> None:
    def listener(_event: Progress) -> None:
        raise RuntimeError("screen is gone")

    record = await ran(Busy(), cases("a"), listener=listener)
    assert record.status == "passed"
    assert [(error.phase, error.code) for error in record.errors] == [("reporting", "app_error")]


async def test_listener_that_never_answers_holds_nothing_up() -> None:
    async def listener(_event: Progress) -> None:
        await asyncio.Event().wait()

    record = await ran(Busy(), cases("a"), listener=listener, limits=SHORT)
    assert (record.status, record.errors[0].code) == ("passed", "listener_late")


@given(st.lists(st.sampled_from(RANKED)))
def test_status_of_a_whole_is_the_highest_of_its_parts(parts: list[Status]) -> None:
    whole = highest(parts)
    assert all(RANKED.index(whole) <= RANKED.index(part) for part in parts)
    assert whole in parts or (whole == "passed" and not parts)
    counts = counts_of(parts)
    assert counts.total == len(parts) == sum(getattr(counts, status) for status in RANKED)


def test_reporting_errors_change_no_status_and_all_others_do() -> None:
    for phase in get_args(Phase):
        error = ErrorRecord(phase=phase, code="x", message="x")
        expected = "passed" if phase == "reporting" else "error"
        assert attempt_status([], [error], None, is_cancelled=False) == expected
