"""`Evals` plays suites against callables: sync or async, with every handler, and without the service."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from pydantic import BaseModel

from parley.sdk.evals import (
    Evals,
    EvalsMisconfigured,
    Evidence,
    JudgeIdentity,
    Limits,
    Pause,
    Responder,
    RunContext,
    RunRecord,
    SafeFailure,
    Turn,
    Verification,
    current_attempt,
    function_agent,
)
from tests.unit.sdk_evals.stage import Lenient, pausing, resuming, step, suite


def echo(text: str) -> str:
    return f"You said: {text}"


async def echo_async(text: str) -> str:
    await asyncio.sleep(0)
    return echo(text)


def errors_of(record: RunRecord) -> list[tuple[str, str]]:
    return [(error.phase, error.code) for attempt in record.attempts for error in attempt.errors]


@pytest.mark.parametrize("function", [echo, echo_async, lambda text, _messages: echo(text)])
async def test_any_callable_becomes_an_agent(function: Any) -> None:
    evals = Evals(agent=function_agent(function), suites=[suite(step(text={"contains": ["order 17"]}))])
    assert (await evals.run()).status == "passed"


def test_without_a_loop_and_without_a_service() -> None:
    record = Evals(agent=function_agent(echo), suites=[suite(step())]).run_sync()
    assert (record.status, record.judge, record.commit) == ("passed", None, "unknown")


def test_messages_are_the_talk_so_far() -> None:
    seen: list[Any] = []

    def agent(text: str, messages: list[dict[str, Any]]) -> str:
        seen.append([(one["role"], one["content"]) for one in messages])
        return text.upper()

    Evals(agent=function_agent(agent), suites=[suite(step("a"), step("b"))]).run_sync()
    assert seen == [[("user", "a")], [("user", "a"), ("assistant", "A"), ("user", "b")]]


class Order(BaseModel):
    number: int


@pytest.mark.parametrize("is_async", [False, True])
async def test_every_handler_is_called_in_its_place(is_async: bool) -> None:
    calls: list[Any] = []

    def noted(name: str, answer: Any = None) -> Any:
        def handler(context: RunContext, *_: Any) -> Any:
            calls.append((name, context.params.number, context.prepared))
            return answer

        async def handler_async(context: RunContext, *_: Any) -> Any:
            await asyncio.sleep(0)
            return handler(context)

        return handler_async if is_async else handler

    def agent(turn: Turn) -> Any:
        calls.append((turn.kind, turn.params.number, turn.prepared))
        return (
            Pause(question="Refund it?", kind="choice", options=["yes", "no"])
            if turn.kind == "message"
            else "Done."
        )

    evals = Evals(
        agent=agent,
        suites=[
            suite(
                pausing(),
                resuming({"using": "approve"}, reference={"using": "policy"}, criteria=["Is done."]),
                params={"number": 17},
            )
        ],
        setup=noted("setup", "shop"),
        responders={"approve": noted("respond", {"type": "select", "ids": ["yes"]})},
        references={"policy": noted("reference", {"days": 14})},
        verify=noted("verify", True),
        teardown=noted("teardown"),
        params_model=Order,
        judge=Lenient(),
    )
    record = await evals.run()
    assert record.status == "passed", record.wire()
    assert calls == [
        ("setup", 17, None), ("message", 17, "shop"), ("respond", 17, "shop"), ("resume", 17, "shop"),
        ("reference", 17, "shop"), ("verify", 17, "shop"), ("teardown", 17, "shop"),
    ]  # fmt: skip
    assert record.attempts[0].steps[1].reference == {"days": 14}


async def test_params_are_checked_before_anything_is_set_up() -> None:
    called: list[str] = []
    evals = Evals(
        agent=function_agent(echo),
        suites=[suite(step(), params={"number": "many"})],
        setup=lambda: called.append("setup"),
        teardown=lambda: called.append("teardown"),
        params_model=Order,
    )
    assert errors_of(await evals.run()) == [("params", "app_error")]
    assert called == []


async def test_identity_reaches_the_agent_through_tasks_and_threads() -> None:
    seen: list[Any] = []

    def deep() -> None:
        seen.append(current_attempt())

    async def agent(_turn: Turn) -> str:
        await asyncio.gather(asyncio.create_task(asyncio.to_thread(deep)))
        return "x"

    record = await Evals(agent=agent, suites=[suite(step())]).run(repetitions=2)
    assert current_attempt() is None
    assert {one.session_id for one in seen} == {attempt.session_id for attempt in record.attempts}
    assert {(one.suite_id, one.case_id) for one in seen} == {("s", "c")}


async def test_plain_functions_run_beside_each_other_and_not_on_the_loop() -> None:
    together = threading.Barrier(2, timeout=5)

    def agent(_turn: Turn) -> str:
        together.wait()
        return "x"

    record = await Evals(agent=agent, suites=[suite(step())]).run(repetitions=2, concurrency=2)
    assert record.status == "passed"


async def test_plain_function_is_awaited_before_teardown() -> None:
    order: list[str] = []

    def slow(_turn: Turn) -> str:
        import time

        time.sleep(0.6)
        order.append("agent ended")
        return "x"

    evals = Evals(
        agent=slow,
        suites=[suite(step())],
        teardown=lambda: order.append("teardown"),
        limits=Limits(case_s=0.3, cleanup_s=5),
    )
    assert errors_of(await evals.run()) == [("execute", "overdue")]
    assert order == ["agent ended", "teardown"]


async def test_execute_may_do_something_around_the_agent() -> None:
    async def execute(context: RunContext) -> Any:
        answer = await context.run()
        assert context.remaining_s is not None
        return f"{answer} [{context.turn.kind}]"

    def execute_sync(context: RunContext) -> Any:
        return f"{context.run_sync()} [{context.turn.kind}]"

    for one in (execute, execute_sync):
        evals = Evals(
            agent=function_agent(echo), execute=one, suites=[suite(step(text={"contains": ["[message]"]}))]
        )
        assert (await evals.run()).status == "passed"


async def test_pause_may_be_raised_and_its_continuation_comes_back() -> None:
    def agent(turn: Turn) -> Any:
        if turn.kind == "message":
            raise Pause(question="Sure?", kind="custom", request={"sum": 5}, continuation=("ticket", 7))
        return f"{turn.continuation} {turn.answer}"

    resume = {"type": "value", "value": {"sum": 4}}
    evals = Evals(
        agent=agent,
        suites=[suite(pausing(), resuming(resume, text={"contains": ["('ticket', 7) {'sum': 4}"]}))],
    )
    assert (await evals.run()).status == "passed"


async def test_case_that_ends_on_a_pause_lets_the_agent_call_it_off() -> None:
    seen: list[tuple[str, Any]] = []

    def agent(turn: Turn) -> Any:
        seen.append((turn.kind, turn.continuation))
        return Pause(question="Sure?", continuation="ticket") if turn.kind == "message" else None

    assert (await Evals(agent=agent, suites=[suite(pausing())]).run()).status == "passed"
    assert seen == [("message", None), ("cancel", "ticket")]


@pytest.mark.parametrize(
    "given", [7, ["x"], {"type": "answer", "words": "x"}, {"type": "interrupt"}, object()]
)
async def test_agent_that_gives_something_else_is_an_error_of_execute(given: Any) -> None:
    record = await Evals(agent=lambda _turn: given, suites=[suite(step())]).run()
    assert errors_of(record) == [("execute", "app_error")]


async def test_agent_may_give_an_observation_as_data() -> None:
    given = {"type": "answer", "text": "x", "structured": [{"schemaId": "r", "status": "done", "data": 1}]}
    evals = Evals(agent=lambda _turn: given, suites=[suite(step(outputs=[{"schemaId": "r"}]))])
    assert (await evals.run()).status == "passed"


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (True, "passed"),
        (False, "failed"),
        ({"passed": False, "reason": "No refund."}, "failed"),
        (Verification(passed=True, reason="Booked."), "passed"),
        (None, "error"),
        ("yes", "error"),
    ],
)
async def test_verify(answer: Any, status: str) -> None:
    evals = Evals(agent=function_agent(echo), suites=[suite(step())], verify=lambda: answer)
    assert (await evals.run()).status == status


async def test_responder_answers_pauses_of_its_schema_alone() -> None:
    def agent(turn: Turn) -> Any:
        return Pause(question="Sure?", schema_id="other") if turn.kind == "message" else "Done."

    evals = Evals(
        agent=agent,
        suites=[suite(pausing(), resuming({"using": "approve"}))],
        responders={"approve": Responder(answer=lambda: "yes", schema_id="approval")},
    )
    assert errors_of(await evals.run()) == [("responder", "interrupt_schema")]


async def test_reporter_s_id_is_kept_and_safe_failures_are_told() -> None:
    reported: list[Exception] = []

    def fails(_turn: Turn) -> str:
        raise SafeFailure("shop_closed", "The shop is closed.", {"until": 8})

    def report(error: Exception) -> str:
        reported.append(error)
        return "trace-1"

    record = await Evals(agent=fails, suites=[suite(step())], report_error=report).run()
    (error,) = record.public().attempts[0].errors
    assert (error.code, error.details, error.diagnostic_id) == ("shop_closed", {"until": 8}, "trace-1")
    assert isinstance(reported[0], SafeFailure)


async def test_filters_choose_what_the_judge_sees() -> None:
    given = {"type": "answer", "text": "x", "events": [{"type": "error", "error": n} for n in (1, 2)]}
    evals = Evals(
        agent=lambda _turn: given,
        suites=[suite(step(criteria=["x"]), evidence={"events": {"using": "big", "params": {"from": 2}}})],
        filters={"big": lambda event, params: event["error"] >= params["from"]},
        judge=Lenient(),
    )
    record = await evals.run()
    stored = record.attempts[0].steps[0].evidence
    assert stored is not None
    assert [event.error for event in stored.observation.events] == [2]


# What is refused before anything runs


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"agent": None}, "needs an agent"),
        ({"suites": []}, "at least one suite"),
        ({"suites": [suite(step()), suite(step())]}, "same id"),
        ({"suites": [suite(pausing(), resuming({"using": "approve"}))]}, "the responder 'approve'"),
        ({"suites": [suite(step(criteria=["x"], reference={"using": "policy"}))]}, "the reference 'policy'"),
        ({"suites": [suite(step(), evidence={"events": {"using": "mine"}})]}, "the filter 'mine'"),
        ({"defaults": {"outputs": {"using": "mine"}}}, "the filter 'mine'"),
        ({"suites": ["/nowhere/suite.yaml"]}, "cannot be read"),
        ({"judge": object()}, "a method `grade`"),
    ],
)
def test_what_does_not_fit_together_is_refused_at_once(fields: dict[str, Any], says: str) -> None:
    given: dict[str, Any] = {"agent": function_agent(echo), "suites": [suite(step())], **fields}
    with pytest.raises(EvalsMisconfigured, match=says):
        Evals(**given)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "a judge is needed"),
        ({"suite_id": "other"}, "no suite 'other'"),
        ({"case_ids": ["other"]}, "no case 'other'"),
        ({"split": "smoke"}, "No case"),
        ({"repetitions": 0}, "Repetitions"),
        ({"concurrency": 101}, "Concurrency"),
    ],
)
async def test_run_that_cannot_be_is_refused_before_setup(options: dict[str, Any], says: str) -> None:
    called: list[str] = []
    evals = Evals(
        agent=function_agent(echo),
        suites=[suite(step(criteria=["Is polite."]))],
        setup=lambda: called.append("setup"),
    )
    with pytest.raises(EvalsMisconfigured, match=says):
        await evals.run(**options)
    assert called == []


async def test_pinned_judge_that_is_another_is_refused_before_anything_runs() -> None:
    called: list[str] = []
    evals = Evals(
        agent=function_agent(echo),
        suites=[suite(step(criteria=["x"]))],
        judge=Lenient(),
        setup=lambda: called.append("setup"),
    )
    identity = JudgeIdentity.of_wire(evals.describe()["judge"])
    with pytest.raises(EvalsMisconfigured, match="pinned to the judge lenient"):
        await evals.run(expect_judge=identity.model_copy(update={"version_hash": "other"}))
    assert called == []
    record = await evals.run(expect_judge=identity)
    assert (record.status, record.judge) == ("passed", identity)


def test_description_tells_everything_and_runs_nothing() -> None:
    called: list[str] = []
    evals = Evals(
        agent=lambda _turn: called.append("agent"),
        suites=[suite(step(), evidence={"history": False})],
        setup=lambda: called.append("setup"),
        responders={"approve": Responder(answer=str, schema_id="approval")},
        params_model=Order,
        judge=Lenient(),
        defaults=Evidence(events=("error",)),
    )
    told = evals.describe()
    assert told["schemaVersion"] == 1
    assert told["suites"][0]["evidence"] == {"history": False, "events": ["error"]}
    assert told["handlers"] == {
        "setup": True, "verify": False, "teardown": False,
        "responders": [{"name": "approve", "schemaId": "approval"}], "references": [], "filters": [],
    }  # fmt: skip
    assert told["paramsSchema"]["properties"]["number"]["type"] == "integer"
    assert told["judge"]["location"] == "app"
    assert called == []


def test_suites_are_given_as_copies() -> None:
    evals = Evals(agent=function_agent(echo), suites=[suite(step(), params={"n": 1})])
    evals.list_suites()[0].cases[0].params["n"] = 2
    assert evals.list_suites()[0].cases[0].params == {"n": 1}
