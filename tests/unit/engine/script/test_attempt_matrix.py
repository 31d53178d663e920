"""Each phase raises, hangs, is cancelled or clings to life: the order holds, results are kept."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from parley.engine.script.fakes import Deed, ScriptedJudge
from parley.engine.script.ports import Limits
from parley.engine.script.record import AttemptRecord
from parley.engine.script.rubric import GradeRequest
from parley.engine.script.work import Stopping
from tests.unit.engine.script.stage import ORDER, SHORT, app_of, played


async def raises() -> None:
    raise RuntimeError("order 17 of Ms Example is gone")


async def hangs() -> None:
    await asyncio.Event().wait()


async def clings() -> None:
    """Never ends, and does not mind being cancelled once."""
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        await asyncio.sleep(1.2)


async def lingers() -> None:
    """Never ends by itself, and takes a moment to end once it is cancelled."""
    try:
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(0.02)


async def cancels_itself() -> None:
    raise asyncio.CancelledError


def stopping_then_hanging(stopping: Stopping) -> Deed:
    async def deed() -> None:
        stopping.request()
        await asyncio.Event().wait()

    return deed


@dataclass(frozen=True)
class Place:
    """A phase: the call it begins with, how many steps are kept then, and whether setup had succeeded."""

    call: str
    phase: str
    steps: int
    prepared: bool = True


PLACES = [
    Place("setup", "setup", 0, prepared=False),
    Place("execute-1", "execute", 1),
    Place("respond", "responder", 2),
    Place("execute-2", "execute", 2),
    Place("reference", "reference", 2),
    Place("execute-3", "execute", 3),
    Place("verify", "verification", 3),
]
CODES: dict[Deed, str] = {
    raises: "app_error",
    hangs: "overdue",
    lingers: "overdue",
    clings: "overdue",
    cancels_itself: "cancelled_itself",
}


def asked_until(place: Place) -> list[str]:
    """What the app is asked when `place` goes wrong: nothing after it but cleaning up."""
    asked = ORDER[: ORDER.index(place.call) + 1]
    if place.call == "respond":
        asked = [*asked, "cancel request-1"]
    return [*asked, "teardown"] if place.prepared else asked


def errors_of(record: AttemptRecord) -> list[tuple[str, str]]:
    return [(error.phase, error.code) for error in record.errors]


async def test_without_faults_the_order_is_the_contract_s() -> None:
    app = app_of()
    record = await played(app)
    assert (record.status, app.calls) == ("passed", ORDER)
    assert [step.status for step in record.steps] == ["passed"] * 3
    assert record.verification is not None
    assert record.verification.passed
    assert set(record.phase_durations_ms) == {
        "params", "setup", "execute", "responder", "reference", "grading", "verification", "cleanup",
    }  # fmt: skip


@pytest.mark.parametrize(
    "fault", [raises, hangs, lingers, clings, cancels_itself], ids=lambda fault: fault.__name__
)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.call)
async def test_fault_ends_in_its_phase(place: Place, fault: Deed) -> None:
    app = app_of(deeds={place.call: fault})
    record = await played(app, limits=SHORT)
    assert record.status == "error"
    ended = [("cleanup", "work_not_ended")] if fault is clings else []
    assert errors_of(record) == [(place.phase, CODES[fault]), *ended]
    assert [call for call in app.calls if call != "report"] == asked_until(place)
    assert len(record.steps) == place.steps
    assert [step.status for step in record.steps[: place.steps - 1]] == ["passed"] * max(0, place.steps - 1)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.call)
async def test_stop_cancels_and_still_cleans_up(place: Place) -> None:
    stopping = Stopping()
    app = app_of(deeds={place.call: stopping_then_hanging(stopping)})
    record = await played(app, stopping=stopping)
    assert (record.status, record.errors) == ("cancelled", ())
    assert app.calls == asked_until(place)
    assert len(record.steps) == place.steps


async def test_stop_before_the_beginning_asks_the_app_nothing() -> None:
    stopping = Stopping()
    stopping.request()
    app = app_of()
    record = await played(app, stopping=stopping)
    assert (record.status, app.calls, record.steps) == ("cancelled", [], ())


async def test_params_that_are_refused_need_no_cleanup() -> None:
    app = app_of()

    def refuses(params: Any) -> Any:
        raise ValueError(f"not these: {params}")

    app.validate_params = refuses  # type: ignore[method-assign]
    record = await played(app)
    assert errors_of(record) == [("params", "app_error")]
    assert app.calls == ["report"]


async def test_setup_that_succeeds_while_it_is_cancelled_is_torn_down() -> None:
    async def late() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return

    app = app_of(deeds={"setup": late})
    record = await played(app, limits=SHORT)
    assert errors_of(record) == [("setup", "overdue")]
    assert app.calls == ["params", "setup", "teardown"]


@pytest.mark.parametrize("fault", [raises, hangs, clings], ids=lambda fault: fault.__name__)
async def test_teardown_that_fails_is_an_error_and_results_are_kept(fault: Deed) -> None:
    app = app_of(deeds={"teardown": fault})
    record = await played(app, limits=SHORT)
    assert record.status == "error"
    assert errors_of(record)[0] == ("cleanup", CODES[fault])
    assert [step.status for step in record.steps] == ["passed"] * 3


async def test_interrupt_that_cannot_be_called_off_does_not_keep_teardown_from_running() -> None:
    app = app_of(deeds={"respond": raises, "cancel request-1": hangs})
    record = await played(app, limits=SHORT)
    assert errors_of(record) == [("responder", "app_error"), ("cleanup", "overdue")]
    assert app.calls[-1] == "teardown"


async def test_stop_does_not_cut_the_cleanup_short() -> None:
    stopping, done = Stopping(), []

    async def takes_a_while() -> None:
        await asyncio.sleep(0.02)
        done.append("all")

    app = app_of(deeds={"execute-2": stopping_then_hanging(stopping), "teardown": takes_a_while})
    assert (await played(app, stopping=stopping)).status == "cancelled"
    assert done == ["all"]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (RuntimeError("no"), "app_error"),
        ("Passed, I would say.", "judge_unreadable"),
        (hangs, "judge_overdue"),
        (cancels_itself, "judge_cancelled"),
    ],
)
async def test_judge_that_goes_wrong_is_an_error_of_grading(answer: object, code: str) -> None:
    def decide(request: GradeRequest, _problem: str | None) -> object:
        goes_wrong = request.criterion.text == "Is friendly."
        return (answer() if callable(answer) else answer) if goes_wrong else {
            "passed": True, "reason": "It is met.", "evidence": [],
        }  # fmt: skip

    app = app_of()
    record = await played(app, judge=ScriptedJudge(decide), limits=SHORT)
    assert record.status == "error"
    assert errors_of(record) == [("grading", code)]
    assert app.calls == [*ORDER[:6], "teardown"]
    assert [one.status for one in record.steps[1].criteria] == ["passed", "error"]


async def test_stop_while_the_judge_thinks_keeps_the_verdicts_that_are_there() -> None:
    stopping = Stopping()

    def decide(request: GradeRequest, _problem: str | None) -> object:
        if request.criterion.text == "Is friendly.":
            return stopping_then_hanging(stopping)()
        return {"passed": True, "reason": "It is met.", "evidence": []}

    app = app_of()
    record = await played(app, judge=ScriptedJudge(decide), stopping=stopping)
    assert (record.status, record.errors) == ("cancelled", ())
    assert [one.status for one in record.steps[1].criteria] == ["passed", "ungraded"]
    assert app.calls == [*ORDER[:6], "teardown"]


async def test_words_of_the_app_s_exceptions_are_private() -> None:
    record = await played(app_of(deeds={"execute-2": raises}, diagnostic_id="diag-7"))
    (error,) = record.errors
    assert "Ms Example" in (error.private or "")
    assert error.diagnostic_id == "diag-7"
    assert error.step_index == 1
    assert "Ms Example" not in str(record.public().wire())
    assert record.public().errors[0].message == "RuntimeError was raised."


async def test_reporter_that_fails_is_a_reporting_error_and_nothing_else() -> None:
    record = await played(app_of(deeds={"execute-1": raises, "report": raises}))
    assert errors_of(record) == [("reporting", "app_error"), ("execute", "app_error")]


async def test_cancelled_work_has_ended_before_teardown_begins() -> None:
    order: list[str] = []

    async def lingers_and_tells() -> None:
        try:
            await lingers()
        finally:
            order.append("agent ended")

    async def tells() -> None:
        order.append("teardown")

    await played(app_of(deeds={"execute-2": lingers_and_tells, "teardown": tells}), limits=SHORT)
    assert order == ["agent ended", "teardown"]


async def test_task_that_is_cancelled_from_outside_still_tears_down() -> None:
    began = asyncio.Event()

    async def begins_and_hangs() -> None:
        began.set()
        await asyncio.Event().wait()

    app = app_of(deeds={"execute-1": begins_and_hangs})
    task = asyncio.create_task(played(app, limits=Limits()))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert app.calls[-1] == "teardown"
