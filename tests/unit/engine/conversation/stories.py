"""Scripted conversations of every kind, and the means to hold them, also from any entry on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from parley.engine.chat.pieces import Usage
from parley.engine.converse import converse
from parley.engine.draws import Draw, draw
from parley.engine.events import (
    ENTRY,
    AssistantSpoke,
    Ended,
    Entry,
    Event,
    HookCalled,
    Opened,
    Opinion,
    Shown,
    Speaking,
    Spent,
    UserSpoke,
)
from parley.engine.fakes import (
    OpenGuard,
    QuietHooks,
    Reply,
    Script,
    ScriptedSpeaker,
    StillClock,
    answers,
    fails,
    opinion,
    refuses,
    says,
    scripted_parties,
)
from parley.engine.messages import Message, Reasoning, Text, ToolCall, ToolResult
from parley.engine.ports import Stop
from parley.engine.simulator.exit_token import EXIT_TOKEN
from parley.engine.spec import Hook, Spec, ToolMock
from parley.engine.state import fold

GOAL = "Get a refund for the broken lamp. GOALCANARY"
CRITERIA = "The agent names the refund period. CRITERIACANARY"
RESOURCE = "Order 4711, one lamp. RESOURCECANARY"
BALANCE = Stop(code="balance_exhausted", message="The balance is used up.")
SUSPENDED = Stop(code="account_suspended", message="The account is suspended.")
CANCELLED = Stop(code="cancelled", message="The run was cancelled.")
TIME_LIMIT = Stop(code="time_limit", message="Out of time.")
HANDED_OVER = Stop(code="handed_over", message="Another worker goes on.")

HOOK_EVENTS = ("before-test", "before-inference", "after-inference", "context-changed", "after-test")


def spec_with(**fields: Any) -> Spec:
    return Spec(
        **{
            "goal": GOAL,
            "seed": 7,
            "validation_criteria": CRITERIA,
            "resources": (RESOURCE,),
            "max_turns": 3,
            **fields,
        }
    )


def hooks_on(*events: Any) -> tuple[Hook, ...]:
    return tuple(Hook(event=event, url=f"http://h.example/{n}") for n, event in enumerate(events))


@dataclass(frozen=True, kw_only=True)
class Story:
    """A conversation with all that its parties do."""

    spec: Spec = field(default_factory=spec_with)
    user: Script = ()
    gateway: Script = ()
    judge: Script = ()
    refusing: frozenset[int] = frozenset()
    closed_turns: Mapping[int, Stop] = field(default_factory=dict)


@dataclass(kw_only=True)
class Held:
    """A conversation that was held, and what everybody saw of it."""

    events: list[Event]
    user: ScriptedSpeaker
    gateway: ScriptedSpeaker
    judge: ScriptedSpeaker
    guard: OpenGuard
    hooks: QuietHooks
    clock: StillClock

    @property
    def entries(self) -> list[Entry]:
        return [event for event in self.events if not isinstance(event, Opened | Shown)]

    @property
    def kinds(self) -> list[str]:
        """The entries in short: user, exit, assistant, opinion, the code of a spent attempt, hook, ended."""
        return [_kind(entry) for entry in self.entries]

    @property
    def ended(self) -> Ended:
        ends = [entry for entry in self.entries if isinstance(entry, Ended)]
        assert len(ends) == 1, "exactly one end"
        assert self.events[-1] is ends[0], "nothing comes behind the end"
        return ends[0]

    @property
    def spent(self) -> list[Spent]:
        return [entry for entry in self.entries if isinstance(entry, Spent)]

    @property
    def opinions(self) -> list[Opinion]:
        return [entry for entry in self.entries if isinstance(entry, Opinion)]

    @property
    def hook_calls(self) -> list[HookCalled]:
        return [entry for entry in self.entries if isinstance(entry, HookCalled)]

    @property
    def outcome(self) -> tuple[str, str, str, int] | None:
        verdict = self.ended.verdict
        if verdict is None:
            return None
        return verdict.outcome, verdict.reason, verdict.state, verdict.turn_number


def _kind(entry: Entry) -> str:
    if isinstance(entry, Spent):
        return entry.code
    return "exit" if isinstance(entry, UserSpoke) and entry.exited else entry.kind


def begin(story: Story, kept: Sequence[Entry] = (), guard: OpenGuard | None = None) -> Held:
    """Everybody of the story, as a worker finds them that goes on after `kept`."""
    return Held(
        events=[],
        user=ScriptedSpeaker(story.user, model="user-llm", made=attempts_of("user", kept)),
        gateway=ScriptedSpeaker(story.gateway, model="gateway-llm", made=attempts_of("assistant", kept)),
        judge=ScriptedSpeaker(story.judge, model="judge-llm", made=attempts_of("judge", kept)),
        guard=guard or OpenGuard(story.closed_turns),
        hooks=QuietHooks(story.refusing),
        clock=StillClock(),
    )


async def go_on(story: Story, held: Held, kept: Sequence[Entry] = (), **ports: Any) -> Held:
    """Hold the story to its end; `ports` replaces some of its fakes."""
    given: dict[str, Any] = {"guard": held.guard, "hooks": held.hooks, "clock": held.clock, **ports}
    parties = scripted_parties(held.user, held.gateway, held.judge, tools=story.spec.tool_mocks, **given)
    async with aclosing(converse(story.spec, parties, fold(kept))) as events:
        async for event in events:
            held.events.append(event)
    return held


async def hold(story: Story, kept: Sequence[Entry] = (), **ports: Any) -> Held:
    return await go_on(story, begin(story, kept), kept, **ports)


async def hold_until(at: int, story: Story, held: Held) -> Held:
    """Hold the story until `at` events have come, and leave it to another worker then."""
    parties = scripted_parties(
        held.user, held.gateway, held.judge, guard=held.guard, tools=story.spec.tool_mocks
    )
    async with aclosing(converse(story.spec, parties)) as events:
        async for event in events:
            held.events.append(event)
            if len(held.events) == at:
                held.guard.stop(HANDED_OVER)
    return held


def attempts_of(role: Speaking, entries: Sequence[Entry]) -> int:
    """How many attempts of `role` these entries stand for: each has exactly one."""
    return sum(_speaker_of(entry) == role for entry in entries)


def _speaker_of(entry: Entry) -> Speaking | None:
    match entry:
        case UserSpoke():
            return "user"
        case AssistantSpoke():
            return "assistant"
        case Opinion():
            return "judge"
        case Spent():
            return entry.role
        case _:
            return None


def without_times(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Entries as they are kept, less the times at which things happened."""
    lines = [json.loads(ENTRY.dump_json(entry)) for entry in entries]
    for line in lines:
        line.pop("at_ms", None)
        line.pop("timing", None)
    return lines


def read_again(entries: Sequence[Entry]) -> list[Entry]:
    """Entries as another worker reads them from the journal."""
    return [ENTRY.validate_json(ENTRY.dump_json(entry)) for entry in entries]


CALL = ToolCall(id="c1", name="find_order", arguments='{"id": 4711}')
MOCKS = (ToolMock(name="find_order", match={"id": 4711}, result="lamp, delivered"),)
CALLS_TOOL = answers(Text(text="One moment."), CALL, finish="tool_calls")
USED = Usage(model="m-2", prompt_tokens=100, cached_prompt_tokens=40, completion_tokens=7)
START = (Message(role="assistant", content="Hello, how can I help?"),)
START_WITH_QUESTION = (*START, Message(role="user", content="Where is my order?"))
START_WITH_RESULT = (
    Message(role="user", content="Where is my order?"),
    Message(role="assistant", tool_calls=(CALL,)),
    Message(role="tool", content="lamp, lost", tool_call_id="c1"),
)
ALL_HOOKS = hooks_on(*HOOK_EVENTS)
NEUTRAL = opinion("0.5")


def rich_story() -> Story:
    """Tool rounds, retried attempts of all three, a nudge, a regenerated reply, hooks, an exit."""
    return Story(
        spec=spec_with(
            max_turns=5,
            tool_mocks=MOCKS,
            hooks=(*ALL_HOOKS, *ALL_HOOKS),
        ),
        user=[
            fails("connect_failed"),
            says("My lamp ", "is broken.", reasoning="I want a refund.", usage=USED),
            says(" "),
            says("Order 4711, the blue one."),
            says("How can I help you today?"),
            fails("stream_cut", "Then I"),
            says("And when is the money back?"),
            says("Thanks, bye.", EXIT_TOKEN),
        ],
        gateway=[
            says("Which order", " is it?"),
            CALLS_TOOL,
            fails("http_error", "The lamp w", status=502),
            fails("rate_limited", status=429, retry_after_s=3.0),
            says("The lamp was delivered.", reasoning="Looked it up.", usage=USED),
            answers(
                CALL,
                ToolResult(id="c1", name="find_order", content="streamed"),
                Text(text="In 14 days."),
            ),
            says("Bye."),
        ],
        judge=[
            opinion("0.6"),
            says("no json here"),
            fails("request_refused", status=400, retryable=False),
            opinion("0.3"),
            fails("http_error", status=503),
            opinion("0.55"),
            opinion("0.7"),
        ],
    )


def stories() -> dict[str, Story]:
    """One story of each kind, by name."""
    leaves = says("Bye. ", EXIT_TOKEN)
    leaves_silently = says(EXIT_TOKEN)
    two: dict[str, Any] = {
        "user": [says("One."), says("Two."), says("Three.")],
        "gateway": [says("A."), says("B."), says("C.")],
    }
    three_neutral = [NEUTRAL] * 3
    return {
        "rich": rich_story(),
        "success": Story(**two, judge=[NEUTRAL, opinion("0.95")]),
        "loss": Story(**two, judge=[opinion("0.1"), opinion("0.1"), opinion("0.1")]),
        "max turns": Story(**two, judge=three_neutral),
        "late judge": Story(spec=spec_with(judge_start_turn=2), **two, judge=three_neutral),
        "exit with words": Story(
            user=[says("One."), leaves], gateway=[says("A."), says("B.")], judge=[NEUTRAL] * 2
        ),
        "silent exit": Story(user=[says("One."), leaves_silently], gateway=[says("A.")], judge=[NEUTRAL] * 2),
        "exit before judging begins": Story(
            spec=spec_with(judge_start_turn=2), user=[leaves], gateway=[says("A.")], judge=[NEUTRAL]
        ),
        "start with question": Story(
            spec=spec_with(start=START_WITH_QUESTION),
            user=[says("Two."), says("Three.")],
            gateway=[says("A."), says("B."), says("C.")],
            judge=three_neutral,
        ),
        "start with tool result": Story(
            spec=spec_with(start=START_WITH_RESULT, hooks=ALL_HOOKS),
            user=[says("Two."), says("Three.")],
            gateway=[says("A."), says("B."), says("C.")],
            judge=three_neutral,
        ),
        "retry in tool round two": Story(
            spec=spec_with(max_turns=2, tool_mocks=MOCKS),
            **two
            | {
                "gateway": [
                    CALLS_TOOL,
                    fails("stream_cut", "It ", "was"),
                    says("It ", "was lost."),
                    says("B."),
                ]
            },
            judge=three_neutral,
        ),
        "eight rounds": Story(
            spec=spec_with(max_turns=2),
            user=[says("One."), says("Two.")],
            gateway=[*[CALLS_TOOL] * 8, says("B.")],
            judge=three_neutral,
        ),
        "empty twice": Story(user=[says(""), says("\u200b \n")]),
        "empty twice, may leave": Story(
            user=[says("One."), says(""), says(" ")], gateway=[says("A.")], judge=[NEUTRAL] * 2
        ),
        "gateway fails": Story(user=[says("One.")], gateway=[fails("http_error", "par", status=500)] * 3),
        "gateway fails in round two": Story(
            spec=spec_with(tool_mocks=MOCKS),
            user=[says("One.")],
            gateway=[CALLS_TOOL, *[fails("http_error", "par", status=500)] * 3],
        ),
        "gateway refuses the request": Story(
            user=[says("One.")], gateway=[fails("request_refused", status=400, retryable=False, message="no")]
        ),
        "judge unreadable": Story(user=[says("One.")], gateway=[says("A.")], judge=[says("prose")] * 3),
        "refusal, empty, filtered, cut": Story(
            spec=spec_with(max_turns=4),
            user=[says("One."), says("Two."), says("Three."), says("Four.")],
            gateway=[
                refuses("I will not."),
                says(),
                says("A b", finish="content_filter"),
                says("A long", finish="length"),
            ],
            judge=[NEUTRAL] * 4,
        ),
        "two-sided twice": Story(
            spec=spec_with(max_turns=2),
            user=[says("One.\nAssis", "tant: A."), says("One more.\nAssistant: B."), says("Two.")],
            gateway=[says("A."), says("B.")],
            judge=[NEUTRAL] * 2,
        ),
        "balance gone": Story(**two, judge=[NEUTRAL], closed_turns={2: BALANCE}),
        "balance gone at once": Story(closed_turns={1: BALANCE}),
        "before-test refused": Story(
            spec=spec_with(hooks=hooks_on("before-test", "after-test", "before-test")),
            refusing=frozenset({0}),
        ),
        "before-inference refused": Story(
            spec=spec_with(hooks=ALL_HOOKS), user=[says("One.")], refusing=frozenset({1})
        ),
        "after-inference refused between rounds": Story(
            spec=spec_with(hooks=ALL_HOOKS, tool_mocks=MOCKS),
            user=[says("One.")],
            gateway=[CALLS_TOOL],
            refusing=frozenset({2}),
        ),
        "context-changed refused": Story(
            spec=spec_with(hooks=ALL_HOOKS),
            user=[says("One.")],
            gateway=[says("A.")],
            refusing=frozenset({3}),
        ),
        "after-test refused": Story(
            spec=spec_with(hooks=ALL_HOOKS),
            user=[says("One.")],
            gateway=[says("A.")],
            judge=[opinion("0.95")],
            refusing=frozenset({4}),
        ),
    }


def random_stories(count: int) -> Iterator[tuple[int, Story]]:
    """Stories in which anything may happen at any attempt."""
    for seed in range(count):
        yield seed, random_story(seed)


def random_story(seed: int) -> Story:
    chance = draw(seed, 0, "story")
    max_turns = 2 + chance.below(5)
    starts: list[tuple[Message, ...]] = [(), (), START, START_WITH_QUESTION, START_WITH_RESULT]
    spec = spec_with(
        seed=seed,
        max_turns=max_turns,
        minimum_turns=1 + chance.below(max_turns - 1),
        allow_user_exit=chance.below(4) > 0,
        judge_start_turn=1 + chance.below(max_turns - 1),
        start=starts[chance.below(len(starts))],
        tool_mocks=MOCKS if chance.below(2) else (),
        hooks=ALL_HOOKS if chance.below(2) else (),
    )
    return Story(
        spec=spec,
        user=_at_random(seed, "user", _user_reply),
        gateway=_at_random(seed, "gateway", _gateway_reply),
        judge=_at_random(seed, "judge", _judge_reply),
        refusing=frozenset({chance.below(12)}),
    )


def _at_random(seed: int, purpose: str, reply: Callable[[Draw, int], Reply]) -> Callable[[int], Reply]:
    def at(number: int) -> Reply:
        if draw(seed, number // 4, f"{purpose} is down").below(25) == 0:
            return fails("http_error", "Half", status=500)
        return reply(draw(seed, number, purpose), number)

    return at


def _user_reply(chance: Draw, number: int) -> Reply:
    match chance.below(14):
        case 0:
            return says(EXIT_TOKEN[:4], EXIT_TOKEN[4:])
        case 1:
            return says(f"So long {number}. ", EXIT_TOKEN)
        case 2:
            return says("", reasoning="Hm.")
        case 3:
            return fails("stream_cut", "I want", f" {number}")
        case 4:
            return says("Fine.\n", f"Assistant: answer {number}")
        case 5:
            return says("Once more, with the very same words as ever before.")
        case 6:
            return fails("rate_limited", status=429, retry_after_s=2.0)
        case _:
            return says(f"Message {number}", " goes\non.", reasoning="Go on." if number % 2 else "")


def _gateway_reply(chance: Draw, number: int) -> Reply:
    call = replace(CALL, id=f"c{number}")
    match chance.below(12):
        case 0:
            return answers(Text(text="Look. "), call, finish="tool_calls")
        case 1:
            return answers(call, replace(call, id=f"d{number}"), finish="tool_calls")
        case 2:
            result = ToolResult(id=call.id, name=call.name, content="found")
            return answers(Reasoning(text="Hm."), call, result, Text(text="Found."), usage=USED)
        case 3:
            return fails("http_error", f"Half of {number}", status=500)
        case 4:
            return says()
        case 5:
            return refuses("I will not.")
        case 6:
            return says("A b", finish="content_filter")
        case _:
            return says(f"Answer {number}, ", "in full.", reasoning="Why not." if number % 3 else "")


def _judge_reply(chance: Draw, number: int) -> Reply:
    match chance.below(10):
        case 0:
            return says("prose")
        case 1:
            return fails("http_error", status=503)
        case 2 if number < 4:
            return fails("request_refused", status=422, retryable=False)
        case 3:
            return opinion("0.05")
        case 4:
            return opinion("0.93")
        case _:
            return opinion(f"0.{4 + chance.below(4)}")
