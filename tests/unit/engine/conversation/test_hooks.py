"""Hooks: when they are called, in which order, with what, and what a refusal does."""

from __future__ import annotations

from decimal import Decimal

from parley.engine.fakes import fails, opinion, says
from tests.unit.engine.conversation.stories import (
    ALL_HOOKS,
    CALLS_TOOL,
    MOCKS,
    START_WITH_QUESTION,
    Held,
    Story,
    hold,
    hooks_on,
    spec_with,
    stories,
)

SUCCESS = opinion("0.95")


def calls(run: Held) -> list[tuple[str, int]]:
    return [(call.hook.event, call.turn) for call in run.hooks.calls]


async def test_hooks_wrap_what_they_are_named_for() -> None:
    story = Story(spec=spec_with(hooks=ALL_HOOKS), user=[says("U1")], gateway=[says("A1")], judge=[SUCCESS])
    run = await hold(story)
    assert run.kinds == ["hook", "user", "hook", "assistant", "hook", "hook", "opinion", "hook", "ended"]
    assert calls(run) == [
        ("before-test", 0),
        ("before-inference", 1),
        ("after-inference", 1),
        ("context-changed", 1),
        ("after-test", 1),
    ]


async def test_hooks_of_an_inference_wrap_the_first_round_only_and_no_retry() -> None:
    story = Story(
        spec=spec_with(hooks=ALL_HOOKS[1:4], tool_mocks=MOCKS),
        user=[says("U1")],
        gateway=[fails("http_error"), CALLS_TOOL, fails("http_error"), says("A1")],
        judge=[SUCCESS],
    )
    run = await hold(story)
    assert run.kinds == [
        *["user", "hook", "http_error", "assistant", "hook"],
        *["http_error", "assistant", "hook", "opinion", "ended"],
    ]
    assert calls(run) == [("before-inference", 1), ("after-inference", 1), ("context-changed", 1)]


async def test_hooks_of_one_event_run_in_the_order_of_the_definition() -> None:
    hooks = hooks_on("after-test", "before-test", "before-inference", "before-test")
    story = Story(spec=spec_with(hooks=hooks), user=[says("U1")], gateway=[says("A1")], judge=[SUCCESS])
    run = await hold(story)
    assert [c.index for c in run.hook_calls] == [1, 3, 2, 0]


async def test_every_turn_calls_its_hooks_anew() -> None:
    run = await hold(stories()["start with tool result"])
    assert [turn for event, turn in calls(run) if event == "before-inference"] == [1, 2, 3]


async def test_hooks_are_told_the_talk() -> None:
    story = Story(
        spec=spec_with(hooks=ALL_HOOKS, start=START_WITH_QUESTION), gateway=[says("A1")], judge=[SUCCESS]
    )
    run = await hold(story)
    told = {call.hook.event: call.data for call in run.hooks.calls}
    assert told["before-test"] == {"goal": story.spec.goal}
    assert told["before-inference"]["turn_number"] == 1
    assert [m["content"] for m in told["before-inference"]["messages"]] == [
        m.text for m in START_WITH_QUESTION
    ]
    assert told["after-inference"]["messages"][-1] == {"role": "assistant", "content": "A1"}
    assert told["after-test"]["outcome"] == "success"
    assert "CANARY" not in repr(told["context-changed"])


async def test_refusal_is_recorded_and_the_rest_is_not_called() -> None:
    hooks = hooks_on(*["before-inference"] * 3, "after-test")
    story = Story(spec=spec_with(hooks=hooks), user=[says("U1")], refusing=frozenset({1}))
    run = await hold(story)
    assert run.kinds == ["user", "hook", "hook", "hook", "ended"]
    assert [(c.index, c.called, c.continued) for c in run.hook_calls] == [
        (0, True, True),
        (1, True, False),
        (2, False, False),
    ]
    assert run.hook_calls[1].status == 403
    assert run.hook_calls[1].body == "no"
    assert len(run.hooks.calls) == 2
    assert run.gateway.asked == []
    assert run.outcome == ("interrupted", "validation_hook_interrupted", "interrupted", 1)


async def test_refused_start_leaves_no_turn() -> None:
    run = await hold(stories()["before-test refused"])
    verdict = run.ended.verdict
    assert verdict is not None
    assert (verdict.turn_number, verdict.conversation_delta, verdict.score) == (0, Decimal("0.5"), None)
    assert run.outcome == ("interrupted", "validation_hook_interrupted", "interrupted", 0)
    assert run.user.asked == []
    assert run.guard.asked_turns == []
    assert [(c.index, c.called) for c in run.hook_calls] == [(0, True), (2, False)]
    assert run.ended.behaviour is None


async def test_what_was_said_before_a_refusal_stays() -> None:
    run = await hold(stories()["context-changed refused"])
    assert run.kinds == ["hook", "user", "hook", "assistant", "hook", "hook", "ended"]
    assert run.judge.asked == []
    assert run.ended.behaviour is None


async def test_refusal_between_rounds_makes_no_further_round() -> None:
    run = await hold(stories()["after-inference refused between rounds"])
    assert run.kinds == ["hook", "user", "hook", "assistant", "hook", "ended"]
    assert len(run.gateway.asked) == 1


async def test_refusal_after_the_test_keeps_the_behaviour() -> None:
    run = await hold(stories()["after-test refused"])
    assert run.outcome == ("interrupted", "validation_hook_interrupted", "interrupted", 1)
    behaviour, verdict = run.ended.behaviour, run.ended.verdict
    assert behaviour is not None
    assert verdict is not None
    assert (behaviour.outcome, behaviour.turn_number) == ("success", 1)
    assert verdict.conversation_delta == behaviour.conversation_delta == Decimal("0.95")


async def test_failed_conversation_has_no_hook_after_the_test() -> None:
    story = Story(
        spec=spec_with(hooks=hooks_on("after-test")), user=[says("U1")], gateway=[fails(retryable=False)]
    )
    run = await hold(story)
    assert run.kinds == ["user", "http_error", "ended"]
    assert run.hooks.calls == []
