"""Bad replies, failing attempts, unreadable opinions: how often they are tried, and how they end."""

from __future__ import annotations

from typing import Any

import pytest

from parley.engine.chat.retry import BASE_S
from parley.engine.events import AssistantSpoke, Opened, Shown, UserSpoke
from parley.engine.fakes import Reply, answers, fails, opinion, refuses, says, stalls
from parley.engine.messages import Refusal, Text, joined
from parley.engine.ports import Deadlines
from parley.engine.simulator.exit_token import EXIT_TOKEN
from parley.engine.state import RESPONSE_FORMAT_REFUSED
from tests.unit.engine.conversation.stories import (
    CALL,
    CALLS_TOOL,
    MOCKS,
    NEUTRAL,
    START,
    USED,
    Held,
    Story,
    attempts_of,
    hold,
    random_story,
    spec_with,
    stories,
)

TURN = ["user", "assistant", "opinion"]
SUCCESS = opinion("0.95")
SILENT = says("")
LONG_LINE = "Where is the lamp that I ordered three weeks ago?"


async def one_turn(*user: Reply, judge: Reply = SUCCESS, **spec: Any) -> Held:
    """A turn in which only the user is of interest."""
    story = Story(spec=spec_with(**spec), user=user, gateway=[says("A1")], judge=[judge])
    return await hold(story)


def failure_of(run: Held) -> tuple[str, str, int]:
    failure = run.ended.failure
    assert failure is not None
    return failure.code, failure.scope, failure.turn


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(says(), id="no words"),
        pytest.param(says(" \n\t"), id="white space"),
        pytest.param(says("\u200b\u2060\ufeff"), id="invisible characters"),
        pytest.param(answers(CALL, finish="tool_calls"), id="C023 a tool call alone"),
        pytest.param(refuses("I can not play a user."), id="a refusal alone"),
        pytest.param(says(reasoning="I think I should ask", finish="length"), id="C010 thoughts alone"),
    ],
)
async def test_reply_without_words_is_nudged_once(reply: Reply) -> None:
    """C008: with more room, and both attempts are paid for."""
    run = await one_turn(reply, says("U1"))
    assert run.kinds == ["reply_empty", *TURN, "ended"]
    assert run.spent[0].reason == "nudged"
    assert run.spent[0].usage is not None
    assert [asked.options.more_room for asked in run.user.asked] == [False, True]
    assert run.user.asked[0].text != run.user.asked[1].text, "the nudge is told"
    assert [m.text for m in run.gateway.asked[0].messages] == ["U1"]


async def test_second_silence_is_an_exit_where_that_is_allowed() -> None:
    run = await one_turn(SILENT, SILENT, start=START)
    assert run.kinds == ["reply_empty", "exit", "opinion", "ended"]
    assert run.gateway.asked == []


@pytest.mark.parametrize(
    "spec", [{"start": START, "allow_user_exit": False}, {"start": START, "minimum_turns": 2}, {}]
)
async def test_second_silence_is_an_error_where_leaving_is_not_allowed(spec: dict[str, Any]) -> None:
    run = await one_turn(SILENT, SILENT, **spec)
    assert run.kinds == ["reply_empty", "reply_empty", "ended"]
    assert [s.will_retry for s in run.spent] == [True, False]
    assert failure_of(run) == ("user_inference", "user_inference", 1)
    assert run.gateway.asked == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("How can I help you today?", "reply_role_swap"),
        ("Assistant: Your order is on its way.", "reply_role_swap"),
        ("As the user, I should ask for a refund.", "reply_plan_leak"),
    ],
)
async def test_reply_out_of_its_part_is_made_again_once(text: str, code: str) -> None:
    """C001."""
    run = await one_turn(says(text), says("U1"))
    assert run.kinds == [code, *TURN, "ended"]
    assert run.spent[0].reason == "regenerated"
    run = await one_turn(says(text), says(text), start=START)
    assert run.kinds == [code, code, "ended"]
    assert failure_of(run) == ("user_inference", "user_inference", 1)
    assert run.gateway.asked == []


async def test_two_sided_reply_is_made_again_then_cut() -> None:
    """C024."""
    both = says("Where is it?\n", "Assistant: On its way.\nUser: Thanks.")
    run = await one_turn(both, both)
    assert run.kinds == ["reply_two_sided", *TURN, "ended"]
    assert [m.text for m in run.gateway.asked[0].messages] == ["Where is it?"]


async def test_own_label_is_dropped() -> None:
    """C024."""
    run = await one_turn(says("Us", "er: Where is it?"))
    assert [m.text for m in run.gateway.asked[0].messages] == ["Where is it?"]


async def test_repeated_message_is_nudged_once_and_then_sent() -> None:
    """C018: never a failure by itself."""
    story = Story(
        spec=spec_with(max_turns=2),
        user=[says(LONG_LINE)] * 3,
        gateway=[says("A1"), says("A2")],
        judge=[NEUTRAL] * 2,
    )
    run = await hold(story)
    assert run.kinds == [*TURN, "reply_repeated", *TURN, "ended"]
    assert run.spent[0].reason == "nudged"


async def test_goodbye_may_be_said_twice() -> None:
    story = Story(
        user=[says("Thanks, bye."), says("Thanks, bye. ", EXIT_TOKEN)],
        gateway=[says("A1"), says("A2")],
        judge=[NEUTRAL] * 2,
    )
    assert (await hold(story)).kinds == [*TURN, "exit", "assistant", "opinion", "ended"]


async def test_message_costs_two_replies_whatever_is_wrong_with_them() -> None:
    run = await one_turn(SILENT, says("How can I help you today?"))
    assert run.kinds == ["reply_empty", "reply_role_swap", "ended"]


async def test_reply_costs_three_attempts_and_a_message_two_replies() -> None:
    cut = fails("stream_cut", "Whe")
    run = await one_turn(cut, cut, SILENT, cut, cut, says("U1"))
    assert run.kinds == [
        "stream_cut",
        "stream_cut",
        "reply_empty",
        "stream_cut",
        "stream_cut",
        *TURN,
        "ended",
    ]
    assert [s.attempt for s in run.spent] == [1, 2, 3, 1, 2]


async def test_third_fault_of_a_reply_is_the_end() -> None:
    run = await one_turn(*[fails("stream_cut", "Whe")] * 3)
    assert run.kinds == ["stream_cut"] * 3 + ["ended"]
    assert failure_of(run) == ("user_inference", "user_inference", 1)
    assert [s.reason for s in run.spent] == ["retried", "retried", "cut"]


async def test_tool_call_beside_words_is_ignored_and_noted() -> None:
    """C023."""
    run = await one_turn(answers(Text(text="U1"), CALL))
    spoken = run.entries[0]
    assert isinstance(spoken, UserSpoke)
    assert spoken.parts == (Text(text="U1"),)
    assert any("Tool calls" in note for note in spoken.notes)
    shown = [e.part for e in run.events if isinstance(e, Shown) and e.role == "user"]
    assert shown == [Text(text="U1")]


async def test_thoughts_are_shown_but_never_sent() -> None:
    """C001."""
    run = await one_turn(says("U1", reasoning="SECRETPLAN"))
    assert "SECRETPLAN" in repr(run.entries[0])
    assert not any("SECRETPLAN" in a.text for a in (*run.gateway.asked, *run.judge.asked))


# The gateway


async def gateway_turn(*gateway: Reply, **spec: Any) -> Held:
    return await hold(Story(spec=spec_with(**spec), user=[says("U1")], gateway=gateway, judge=[SUCCESS]))


async def test_empty_answer_is_kept_judged_and_in_the_history() -> None:
    story = Story(
        spec=spec_with(max_turns=2),
        user=[says("U1"), says("U2")],
        gateway=[says(), says("A2")],
        judge=[NEUTRAL] * 2,
    )
    run = await hold(story)
    assert run.kinds == [*TURN, *TURN, "ended"]
    assert [(m.role, m.text) for m in run.gateway.asked[1].messages] == [
        ("user", "U1"),
        ("assistant", ""),
        ("user", "U2"),
    ]


async def test_filtered_answer_is_kept_as_a_refusal() -> None:
    run = await gateway_turn(says("A b", finish="content_filter"))
    spoken = run.entries[1]
    assert isinstance(spoken, AssistantSpoke)
    assert joined(spoken.parts, "content") == "A b"
    assert "filter" in joined(spoken.parts, "refusal")
    assert run.kinds == [*TURN, "ended"]


async def test_refusal_that_was_streamed_is_not_added_to() -> None:
    filtered = answers(Refusal(text="No."), finish="content_filter")
    run = await gateway_turn(filtered)
    assert isinstance(run.entries[1], AssistantSpoke)
    assert run.entries[1].parts == (Refusal(text="No."),)


async def test_truncated_answer_is_marked() -> None:
    run = await gateway_turn(says("A long", finish="length"))
    assert isinstance(run.entries[1], AssistantSpoke)
    assert run.entries[1].truncated
    assert run.kinds == [*TURN, "ended"]


async def test_reported_usage_is_kept() -> None:
    run = await gateway_turn(says("A1", usage=USED))
    assert isinstance(run.entries[1], AssistantSpoke)
    assert run.entries[1].usage == USED


async def test_fault_that_is_not_to_be_retried_ends_with_its_text() -> None:
    """C013: a 400 of the gateway is reported, not hidden."""
    run = await gateway_turn(
        fails("request_refused", status=400, retryable=False, message="roles must alternate")
    )
    assert run.kinds == ["user", "request_refused", "ended"]
    assert failure_of(run) == ("gateway_inference", "gateway_inference", 1)
    assert run.ended.failure is not None
    assert run.ended.failure.message == "roles must alternate"
    assert run.spent[0].usage is None


async def test_each_round_has_its_own_attempts() -> None:
    down = fails("http_error", status=503)
    run = await gateway_turn(down, down, CALLS_TOOL, down, down, says("A1"), tool_mocks=MOCKS)
    assert run.outcome is not None
    assert [(s.round, s.attempt) for s in run.spent] == [(1, 1), (1, 2), (2, 1), (2, 2)]


async def test_retry_waits_longer_each_time_and_as_the_provider_wishes() -> None:
    down = fails("http_error", status=503)
    run = await gateway_turn(down, down, says("A1"))
    first_s, second_s = run.clock.slept_s
    assert BASE_S / 2 <= first_s <= BASE_S <= second_s <= 2 * BASE_S
    run = await gateway_turn(fails("rate_limited", status=429, retry_after_s=7.0), says("A1"))
    assert len(run.clock.slept_s) == 1
    assert 7.0 <= run.clock.slept_s[0] <= 7.0 + BASE_S
    assert run.spent[0].wait_s == run.clock.slept_s[0]
    run = await gateway_turn(fails("rate_limited", status=429, retry_after_s=900.0), says("A1"))
    assert run.clock.slept_s == [60.0]


async def test_time_that_passed_since_the_fault_is_not_waited_again() -> None:
    story = Story(
        user=[says("U1")],
        gateway=[fails("rate_limited", status=429, retry_after_s=7.0), says("A1")],
        judge=[SUCCESS],
    )
    kept = (await hold(story)).entries[:2]
    run = await hold(story, kept)
    later = await hold(story, kept, clock=type(run.clock)(at_s=run.clock.at_s + 100))
    assert len(run.clock.slept_s) == 1
    assert later.kinds == run.kinds


@pytest.mark.parametrize(
    ("reply", "code"), [(stalls(), "first_token_timeout"), (stalls("Hel"), "idle_timeout")]
)
async def test_silent_gateway_is_tried_again(reply: Reply, code: str) -> None:
    story = Story(user=[says("U1")], gateway=[reply, says("A1")], judge=[SUCCESS])
    run = await hold(story, deadlines=Deadlines(first_piece_s=0.02, idle_s=0.02, whole_s=30.0))
    assert run.kinds == ["user", code, "assistant", "opinion", "ended"]
    assert run.gateway.open_attempts == 0


# The judge


async def judged(*judge: Reply, **spec: Any) -> Held:
    return await hold(Story(spec=spec_with(**spec), user=[says("U1")], gateway=[says("A1")], judge=judge))


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (says("I would say 0.9"), "opinion_without_object"),
        (says('{"reasoning": "r", "score": true}'), "opinion_incomplete"),
        (says('{"reasoning": "r", "score": 1.1}'), "opinion_out_of_range"),
        (says('{"score": 0.9}'), "opinion_incomplete"),
        (says('{"reasoning": "r", "score": 0.9}', finish="length"), "opinion_cut"),
        (says('{"reasoning": "r", "score": 0.9}', finish="content_filter"), "opinion_refused"),
        (refuses("I can not judge."), "opinion_refused"),
        (says(), "opinion_empty"),
    ],
)
async def test_opinion_that_cannot_be_read_is_asked_for_again(reply: Reply, code: str) -> None:
    """C028, C033, C034, C037, C042."""
    run = await judged(reply, SUCCESS)
    assert run.kinds == ["user", "assistant", code, "opinion", "ended"]
    assert run.spent[0].error in run.judge.asked[1].messages[-1].text, "the judge is told what was wrong"
    assert run.clock.slept_s == []
    run = await judged(reply, reply, reply)
    assert run.kinds == ["user", "assistant", code, code, code, "ended"]
    assert failure_of(run) == ("judge_analysis", "judge_analysis", 1)
    assert [s.will_retry for s in run.spent] == [True, True, False]


async def test_opinion_costs_three_attempts_whatever_the_faults() -> None:
    """C046."""
    run = await judged(says("prose"), fails("http_error", status=503), says("prose"))
    assert run.kinds == [
        "user",
        "assistant",
        "opinion_without_object",
        "http_error",
        "opinion_without_object",
        "ended",
    ]
    assert failure_of(run) == ("judge_analysis", "judge_analysis", 1)
    assert len(run.clock.slept_s) == 1


async def test_judge_is_not_blamed_for_its_providers_faults() -> None:
    run = await judged(fails("http_error", status=503, message="upstream is down"), SUCCESS)
    assert run.judge.asked[0].text == run.judge.asked[1].text
    assert "upstream is down" not in run.judge.asked[1].text


async def test_what_was_wrong_is_still_told_after_another_fault() -> None:
    run = await judged(says("prose"), fails("http_error", status=503), SUCCESS)
    problem = run.spent[0].error
    assert [problem in asked.messages[-1].text for asked in run.judge.asked] == [False, True, True]


@pytest.mark.parametrize("status", [400, 422])
async def test_refused_schema_is_left_out_from_then_on(status: int) -> None:
    """C041."""
    refused = fails("request_refused", status=status, retryable=False)
    story = Story(
        spec=spec_with(max_turns=2),
        user=[says("U1"), says("U2")],
        gateway=[says("A1"), says("A2")],
        judge=[refused, NEUTRAL, NEUTRAL],
    )
    run = await hold(story)
    assert run.kinds == ["user", "assistant", RESPONSE_FORMAT_REFUSED, "opinion", *TURN, "ended"]
    assert [a.options.response_schema is None for a in run.judge.asked] == [False, True, True]
    assert run.judge.asked[0].text == run.judge.asked[1].text
    assert run.clock.slept_s == []


async def test_request_that_is_refused_without_a_schema_too_is_an_error() -> None:
    """C041: other 400s are not swallowed."""
    refused = fails("request_refused", status=400, retryable=False, message="context too long")
    run = await judged(refused, refused)
    assert run.kinds == ["user", "assistant", RESPONSE_FORMAT_REFUSED, "request_refused", "ended"]
    assert run.ended.failure is not None
    assert run.ended.failure.message == "context too long"


async def test_other_refusals_of_the_judges_request_are_not_about_the_schema() -> None:
    run = await judged(fails("request_refused", status=401, retryable=False))
    assert run.kinds == ["user", "assistant", "request_refused", "ended"]


async def test_user_and_gateway_are_never_asked_for_a_schema() -> None:
    run = await hold(stories()["rich"])
    assert all(a.options.response_schema is None for a in (*run.user.asked, *run.gateway.asked))


# All of them


def bounds_hold(run: Held, story: Story) -> None:
    attempts = {
        "user": (run.user.asked, 6 * story.spec.max_turns),
        "assistant": (run.gateway.asked, 8 * 3 * story.spec.max_turns),
        "judge": (run.judge.asked, 3 * story.spec.max_turns),
    }
    for role, (asked, most) in attempts.items():
        opened = sum(isinstance(e, Opened) and e.role == role for e in run.events)
        assert opened == len(asked) == attempts_of(role, run.entries)  # type: ignore[arg-type]
        assert len(asked) <= most
    assert run.ended is run.entries[-1]


@pytest.mark.parametrize("name", sorted(stories()))
async def test_every_attempt_has_exactly_one_entry(name: str) -> None:
    story = stories()[name]
    bounds_hold(await hold(story), story)


async def test_every_attempt_has_exactly_one_entry_in_any_conversation() -> None:
    for seed in range(150):
        story = random_story(seed)
        run = await hold(story)
        bounds_hold(run, story)
        assert EXIT_TOKEN not in repr(run.events)
