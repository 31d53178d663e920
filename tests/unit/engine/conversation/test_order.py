"""The order of a conversation: turns, starts, judging, ends and their precedence."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest

from parley.engine.events import Opened
from parley.engine.fakes import answers, opinion, says
from parley.engine.messages import Message, Text, ToolResult
from parley.engine.simulator.exit_token import EXIT_TOKEN
from parley.engine.spec import MAX_ROUNDS
from tests.unit.engine.conversation.stories import (
    ALL_HOOKS,
    CALL,
    CALLS_TOOL,
    CRITERIA,
    GOAL,
    MOCKS,
    NEUTRAL,
    RESOURCE,
    START,
    START_WITH_QUESTION,
    START_WITH_RESULT,
    Held,
    Story,
    hold,
    spec_with,
    stories,
)

TURN = ["user", "assistant", "opinion"]
LEAVES = says("Bye. ", EXIT_TOKEN)
LEAVES_SILENTLY = says(EXIT_TOKEN)


def talk(turns: int, **fields: Any) -> dict[str, Any]:
    return {
        "user": [says(f"U{n}") for n in range(1, turns + 1)],
        "gateway": [says(f"A{n}") for n in range(1, turns + 1)],
        "judge": [NEUTRAL] * turns,
        **fields,
    }


async def held(spec: dict[str, Any] | None = None, **script: Any) -> Held:
    return await hold(Story(spec=spec_with(**(spec or {})), **script))


async def test_turn_is_user_gateway_judge() -> None:
    run = await held(**talk(3))
    assert run.kinds == [*TURN, *TURN, *TURN, "ended"]
    assert [o.should_continue for o in run.opinions] == [True, True, False]
    assert [e.role for e in run.events if isinstance(e, Opened)] == ["user", "assistant", "judge"] * 3
    assert run.outcome == ("incomplete", "max_turns_reached", "max_turns", 3)


async def test_success_ends_at_once() -> None:
    run = await held(**talk(3, judge=[opinion("0.9")]))
    assert run.kinds == [*TURN, "ended"]
    assert run.outcome == ("success", "baseline_reached", "success", 1)


async def test_loss_needs_two_low_turns_in_a_row() -> None:
    run = await held(**talk(3, judge=[opinion("0.1"), opinion("0.1")]))
    assert run.outcome == ("loss", "loss_threshold_persisted", "loss", 2)
    assert [o.passed for o in run.opinions] == [True, False]


@pytest.mark.parametrize(
    ("scores", "last_user", "outcome"),
    [
        (("0.5", "0.95"), LEAVES, "success"),
        (("0.1", "0.1"), LEAVES, "loss"),
        (("0.5", "0.5"), LEAVES, "incomplete"),
    ],
)
async def test_success_and_loss_come_before_exit_and_last_turn(
    scores: tuple[str, str], last_user: object, outcome: str
) -> None:
    """All of it happens at the last turn."""
    run = await held(
        {"max_turns": 2}, **talk(2, user=[says("U1"), last_user], judge=[opinion(s) for s in scores])
    )
    reasons = {
        "success": "baseline_reached",
        "loss": "loss_threshold_persisted",
        "incomplete": "simulated_user_ended_conversation",
    }
    assert run.outcome is not None
    assert run.outcome[:2] == (outcome, reasons[outcome])


async def test_verdict_carries_the_latest_standing() -> None:
    run = await held({"max_turns": 2}, **talk(2, judge=[opinion("0.4"), opinion("0.6")]))
    verdict = run.ended.verdict
    assert verdict is not None
    assert (verdict.score, verdict.conversation_delta) == (Decimal("0.5"), Decimal("0.5"))
    assert [o.conversation_delta for o in run.opinions] == [Decimal("0.4"), Decimal("0.5")]


async def test_judge_waits_for_its_start_turn() -> None:
    run = await held({"judge_start_turn": 2}, **talk(3))
    assert run.kinds == ["user", "assistant", *TURN, *TURN, "ended"]


async def test_judge_speaks_after_an_exit_however_early() -> None:
    run = await held({"judge_start_turn": 2}, **talk(1, user=[LEAVES]))
    assert run.kinds == ["exit", "assistant", "opinion", "ended"]


async def test_after_the_last_answer_only_the_judge_runs() -> None:
    run = await held({"max_turns": 2}, **talk(2))
    assert len(run.user.asked) == 2
    assert run.kinds[-2:] == ["opinion", "ended"]


@pytest.mark.parametrize("start", [START_WITH_QUESTION, START_WITH_RESULT], ids=["question", "tool result"])
async def test_gateway_answers_a_start_that_waits_for_it(start: tuple[Message, ...]) -> None:
    """C012: as turn 1, without a simulated message."""
    run = await held({"start": start}, **talk(3))
    assert run.kinds == ["assistant", "opinion", *TURN, *TURN, "ended"]
    assert run.gateway.asked[0].messages == start
    assert run.outcome == ("incomplete", "max_turns_reached", "max_turns", 3)
    roles = [m.role for m in run.gateway.asked[-1].messages[len(start) - 1 :]]
    assert ("user", "user") not in list(pairwise(roles))


async def test_greeting_is_sent_unchanged_and_the_user_begins() -> None:
    """C013."""
    run = await held({"start": START}, **talk(3))
    assert run.kinds[0] == "user"
    assert run.gateway.asked[0].messages == (*START, Message(role="user", content="U1"))
    assert START[0].text in run.user.asked[0].text


async def test_gateway_is_sent_the_whole_talk() -> None:
    run = await held(**talk(2), spec={"max_turns": 2})
    assert [(m.role, m.text) for m in run.gateway.asked[1].messages] == [
        ("user", "U1"),
        ("assistant", "A1"),
        ("user", "U2"),
    ]


@pytest.mark.parametrize("name", sorted(stories()))
async def test_nobody_is_told_what_is_not_for_him(name: str) -> None:
    """C022: criteria for the judge alone; goal and resources never for the gateway."""
    run = await hold(stories()[name])
    for asked in run.user.asked:
        assert "CRITERIACANARY" not in asked.text
        assert "GOALCANARY" in asked.text
        assert "RESOURCECANARY" in asked.text
    for asked in run.gateway.asked:
        assert "CANARY" not in asked.text
    for asked in run.judge.asked:
        assert all(text in asked.text for text in (CRITERIA, GOAL, RESOURCE))


async def test_leaving_with_words_is_answered_and_judged() -> None:
    """C003."""
    run = await held(**talk(2, user=[says("U1"), LEAVES]))
    assert run.kinds == [*TURN, "exit", "assistant", "opinion", "ended"]
    assert run.gateway.asked[-1].messages[-1].text == "Bye."
    assert run.outcome == ("incomplete", "simulated_user_ended_conversation", "ended", 2)
    assert run.opinions[-1].should_continue is False


async def test_leaving_without_words_asks_nobody_but_the_judge() -> None:
    """C003; no hook of an inference is called either."""
    story = Story(
        spec=spec_with(hooks=ALL_HOOKS[1:]),
        user=[says("U1"), LEAVES_SILENTLY],
        gateway=[says("A1")],
        judge=[NEUTRAL] * 2,
    )
    run = await hold(story)
    assert run.kinds[-4:] == ["exit", "opinion", "hook", "ended"]
    assert [(c.event, c.turn) for c in run.hook_calls] == [
        ("before-inference", 1),
        ("after-inference", 1),
        ("context-changed", 1),
        ("after-test", 2),
    ]


async def test_leaving_before_the_gateway_has_spoken_counts_as_silence() -> None:
    run = await held(**talk(1, user=[LEAVES_SILENTLY, says("U1")], judge=[opinion("0.95")]))
    assert run.kinds == ["reply_empty", *TURN, "ended"]


async def test_leaving_twice_before_the_gateway_has_spoken_is_an_error() -> None:
    run = await held(user=[LEAVES_SILENTLY, LEAVES_SILENTLY])
    assert run.ended.failure is not None
    assert (run.ended.failure.code, run.ended.failure.scope) == ("user_inference", "user_inference")
    assert run.gateway.asked == []


async def test_greeting_in_the_start_is_enough_to_leave() -> None:
    run = await held({"start": START}, user=[LEAVES_SILENTLY], judge=[NEUTRAL])
    assert run.kinds == ["exit", "opinion", "ended"]


@pytest.mark.parametrize("fields", [{"allow_user_exit": False}, {"minimum_turns": 2}])
async def test_sign_of_leaving_is_ignored_where_it_is_not_allowed(fields: dict[str, object]) -> None:
    run = await held(
        {"max_turns": 2, **fields}, **talk(2, user=[says("U1 ", EXIT_TOKEN), says("U2")], judge=[NEUTRAL] * 2)
    )
    assert run.kinds == [*TURN, *TURN, "ended"]
    assert run.gateway.asked[0].messages[-1].text == "U1"
    assert EXIT_TOKEN not in run.user.asked[0].text


async def test_leaving_is_allowed_from_the_minimum_turn_on() -> None:
    run = await held({"minimum_turns": 2}, **talk(2, user=[says("U1 ", EXIT_TOKEN), LEAVES]))
    assert run.kinds == [*TURN, "exit", "assistant", "opinion", "ended"]
    assert [EXIT_TOKEN in asked.text for asked in run.user.asked] == [False, True]


@pytest.mark.parametrize("cut", range(1, len(EXIT_TOKEN)))
async def test_no_part_of_the_token_is_ever_seen(cut: int) -> None:
    """Cut in two, beside words and thoughts."""
    first, second = EXIT_TOKEN[:cut], EXIT_TOKEN[cut:]
    story = Story(
        user=[says("Hi"), says("Bye ", first, second, reasoning=f"I say {EXIT_TOKEN} now")],
        gateway=[says("A1"), says("A2")],
        judge=[NEUTRAL] * 2,
    )
    run = await hold(story)
    assert run.outcome is not None
    assert run.outcome[1] == "simulated_user_ended_conversation"
    words = [*run.events, *(asked.text for asked in run.gateway.asked)]
    assert not any(sign in repr(words) for sign in ("<", "LEAVE", "TALK", "/>"))


async def test_what_only_looks_like_the_token_is_said() -> None:
    """C006."""
    run = await held(**talk(1, user=[says("I see ", EXIT_TOKEN[:5])], judge=[opinion("0.95")]))
    assert run.gateway.asked[0].messages[-1].text == f"I see {EXIT_TOKEN[:5]}"


async def test_tool_calls_left_open_are_answered_within_the_turn() -> None:
    run = await held(
        {"tool_mocks": MOCKS}, **talk(1, gateway=[CALLS_TOOL, says("Found.")], judge=[opinion("0.95")])
    )
    assert run.kinds == ["user", "assistant", "assistant", "opinion", "ended"]
    assert [(m.role, m.text) for m in run.gateway.asked[1].messages[1:]] == [
        ("assistant", "One moment."),
        ("tool", "lamp, delivered"),
    ]
    assert "lamp, delivered" in run.judge.asked[0].text, "C047: the judge sees results"


async def test_streamed_results_are_kept_and_end_the_turn() -> None:
    streamed = answers(CALL, ToolResult(id="c1", name="find_order", content="own"), Text(text="Found."))
    run = await held({"max_turns": 2, "tool_mocks": MOCKS}, **talk(2, gateway=[streamed, says("A2")]))
    assert run.kinds == [*TURN, *TURN, "ended"]
    assert [(m.role, m.text) for m in run.gateway.asked[1].messages[1:4]] == [
        ("assistant", ""),
        ("tool", "own"),
        ("assistant", "Found."),
    ]


async def test_tool_without_a_mock_is_told_to_be_unavailable() -> None:
    run = await held(**talk(1, gateway=[CALLS_TOOL, says("Sorry.")], judge=[opinion("0.95")]))
    assert "not available" in run.gateway.asked[1].messages[-1].text


async def test_turn_has_at_most_eight_rounds() -> None:
    run = await held(
        {"max_turns": 2, "tool_mocks": MOCKS}, **talk(2, gateway=[*[CALLS_TOOL] * MAX_ROUNDS, says("A2")])
    )
    assert run.kinds == ["user", *["assistant"] * MAX_ROUNDS, "opinion", *TURN, "ended"]
    assert run.gateway.asked[-1].messages[-2].role == "tool", "the history stays valid"


async def test_every_turn_asks_the_guard_once() -> None:
    run = await hold(stories()["rich"])
    assert run.guard.asked_turns == [1, 2, 3, 4]


async def test_conversation_without_an_end_of_its_own_is_bounded() -> None:
    """C017, C019."""
    endless = Story(
        spec=spec_with(max_turns=64),
        user=lambda n: says(f"Thanks {n}"),
        gateway=lambda n: says(f"Bye {n}"),
        judge=lambda _: NEUTRAL,
    )
    run = await hold(endless)
    assert (len(run.user.asked), len(run.gateway.asked), len(run.judge.asked)) == (64, 64, 64)
