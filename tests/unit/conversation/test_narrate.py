"""A conversation is told alike, live or again, from the beginning or from any place."""

from __future__ import annotations

from dataclasses import replace

import pytest

from parley.engine.chat.pieces import Usage
from parley.engine.events import (
    AssistantSpoke,
    Ended,
    Entry,
    Event,
    Failure,
    HookCalled,
    Opened,
    Shown,
    Spent,
    Timing,
    UserSpoke,
)
from parley.engine.messages import Text, ToolCall, ToolResult
from parley.engine.state import WORKER_LOST
from parley.server.conversation.narrate import Narrator, WireEvent
from tests.unit.conversation.watching import (
    ORDER,
    joined,
    letters,
    live,
    replayed,
    resumed,
    terminal,
    without_abandoned_text,
)
from tests.unit.engine.conversation.stories import (
    Held,
    Story,
    begin,
    go_on,
    hold,
    hold_until,
    random_stories,
    stories,
)

NAMES = sorted(stories())
USAGE = Usage(model="m", prompt_tokens=3, completion_tokens=2)
AT = Timing(at_ms=5, took_ms=1)
RANDOM_STORIES = 40


def live_of(run: Held, story: Story) -> list[WireEvent]:
    return live(run.events, story.spec.max_turns)


def replay_of(run: Held, story: Story) -> list[WireEvent]:
    return replayed(run.entries, story.spec.max_turns)


def told_in_order(events: list[WireEvent]) -> None:
    told = joined(events)
    assert ORDER.fullmatch(letters(told)), letters(told)
    assert len(terminal(told)) == 1
    assert terminal(told) == [told[-1]]


def live_and_replay_agree(run: Held, story: Story) -> None:
    now, again = live_of(run, story), replay_of(run, story)
    told_in_order(now)
    told_in_order(again)
    assert without_abandoned_text(joined(now)) == without_abandoned_text(joined(again))


def resumes_from_every_place(run: Held, story: Story) -> None:
    max_turns = story.spec.max_turns
    now, again = live_of(run, story), replay_of(run, story)
    for events, heard in ((now, True), (now, False), (again, True), (again, False)):
        for at, event in enumerate(events):
            rest = resumed(run.events, max_turns, event.id, hears_deltas=heard)
            told = joined([*events[: at + 1], *rest])
            assert without_abandoned_text(told) == without_abandoned_text(joined(now)), event.id
            if heard and events is now:
                assert told == joined(now), event.id


def ids_only_grow(events: list[WireEvent]) -> None:
    places = [tuple(map(int, event.id.split(":"))) for event in events]
    ends = [(place[0], float("inf")) if len(place) == 1 else place for place in places]
    assert ends == sorted(set(ends))


@pytest.mark.parametrize("name", NAMES)
async def test_live_and_replay_tell_the_same_in_order(name: str) -> None:
    story = stories()[name]
    live_and_replay_agree(await hold(story), story)


@pytest.mark.parametrize("name", NAMES)
async def test_watcher_goes_on_from_every_place_without_gap_or_repeat(name: str) -> None:
    story = stories()[name]
    run = await hold(story)
    resumes_from_every_place(run, story)
    ids_only_grow(live_of(run, story))
    ids_only_grow(replay_of(run, story))


@pytest.mark.slow
async def test_any_conversation_is_told_alike() -> None:
    for _seed, story in random_stories(RANDOM_STORIES):
        run = await hold(story)
        live_and_replay_agree(run, story)
        resumes_from_every_place(run, story)


async def test_watcher_that_lost_some_deltas_gets_the_rest_with_the_entry() -> None:
    story = stories()["retry in tool round two"]
    run = await hold(story)
    whole = joined(live_of(run, story))
    for lost in range(len(run.events)):
        heard: list[object] = []
        is_deaf = False
        for at, event in enumerate(run.events):
            is_delta = isinstance(event, Opened | Shown)
            is_deaf = is_delta and (is_deaf or at >= lost)
            if not is_deaf:
                heard.append(event)
        told = joined(live(heard, story.spec.max_turns))  # type: ignore[arg-type]
        assert without_abandoned_text(told) == without_abandoned_text(whole)


async def test_retry_tells_the_rounds_that_were_kept_again() -> None:
    story = stories()["retry in tool round two"]
    run = await hold(story)
    told = joined(live_of(run, story))
    kinds = [type_.removeprefix("chat.assistant_message.") for type_, _ in told]
    begin = kinds.index("start_generation")
    first_round = ["start_generation", "content", "tool_call", "tool_result"]
    assert kinds[begin : begin + 13] == [
        *first_round,
        "content",
        "unhandled_error",
        *first_round,
        "content",
        "end_generation",
        "usage_updated",
    ]
    assert told[begin + 4][1] == {"content": "It was"}
    assert told[begin + 10][1] == {"content": "It was lost."}
    assert kinds[begin + 13] == "usage_updated", "one for each round that was kept"


async def test_turn_tells_how_many_are_left() -> None:
    story = stories()["max turns"]
    told = joined(replay_of(await hold(story), story))
    starts = [data for type_, data in told if type_ == "chat.start"]
    assert starts == [
        {"turn_number": 1, "max_remaining_turns": 3},
        {"turn_number": 2, "max_remaining_turns": 2},
        {"turn_number": 3, "max_remaining_turns": 1},
    ]


async def test_opinion_and_verdict_as_the_wire_has_them() -> None:
    story = stories()["success"]
    told = dict(joined(replay_of(await hold(story), story)))
    assert told["chat.judge.turn_analysis_result_ready"] == {
        "result": {
            "reasoning": "Because of what was said.",
            "score": 0.95,
            "pass": True,
            "should_continue": False,
            "state": "success",
            "turn_delta": 0.9,
            "conversation_delta": 0.95,
            "loss_streak": 0,
            "required_loss_streak": 2,
        }
    }
    assert told["chat.validation.end"] == {
        "outcome": "success",
        "reason": "baseline_reached",
        "state": "success",
        "turn_number": 2,
        "score": 0.95,
        "conversation_delta": 0.95,
        "loss_streak": 0,
    }


async def test_verdict_without_an_opinion_has_no_score() -> None:
    story = stories()["before-test refused"]
    (only,) = joined(replay_of(await hold(story), story))
    assert only == (
        "chat.validation.end",
        {
            "outcome": "interrupted",
            "reason": "validation_hook_interrupted",
            "state": "interrupted",
            "turn_number": 0,
            "conversation_delta": 0.5,
            "loss_streak": 0,
        },
    )


async def test_failure_is_the_terminal_error() -> None:
    story = stories()["gateway refuses the request"]
    type_, data = joined(replay_of(await hold(story), story))[-1]
    assert type_ == "unhandled_error"
    assert data == {
        "error": "no",
        "code": "gateway_inference",
        "scope": "gateway_inference",
        "will_retry": False,
    }


def test_cancelled_run_names_the_step() -> None:
    (event,) = Narrator(3).entry(Ended(at_ms=5, cancelled=True, scope="judge_analysis"))
    assert (event.data["code"], event.data["scope"]) == ("cancelled", "judge_analysis")
    (event,) = Narrator(3).entry(Ended(at_ms=5, cancelled=True))
    assert event.data["scope"] == "user_inference", "cancelled before it began"


def test_conversation_that_breaks_in_the_middle_of_a_message_still_has_its_end() -> None:
    """C101."""
    narrator = Narrator(3)
    events = narrator.delta(Opened(role="user", turn=1), 1)
    events += narrator.delta(Shown(role="user", part=Text(text="Where is my")), 2)
    failure = Failure(code="internal_error", message="broken", scope="user_inference", turn=1)
    events += narrator.entry(Ended(at_ms=3, failure=failure))
    assert letters(joined(events)) == "SucF"
    assert events[-1].id == "1"


def user_said(text: str, turn: int = 1) -> UserSpoke:
    return UserSpoke(turn=turn, parts=(Text(text=text),), usage=USAGE, timing=AT)


def lost(**fields: object) -> Spent:
    given: dict[str, object] = {"role": "user", "turn": 1, "attempt": 1, **fields}
    return Spent(
        reason="handed_over",
        code=WORKER_LOST,
        error="lost",
        will_retry=True,
        usage=None,
        at_ms=1,
        **given,  # type: ignore[arg-type]
    )


def test_lost_worker_in_the_middle_of_a_message_is_told_with_a_fresh_start() -> None:
    entries: list[Entry] = [lost(), user_said("Hi")]
    assert letters(joined(replayed(entries, 3))) == "Su!uceU"


def test_text_of_a_lost_worker_is_followed_by_a_fresh_start() -> None:
    """Also for a watcher who heard it, and for one who comes back with its place."""
    heard: list[Event] = [Opened(role="user", turn=1), Shown(role="user", part=Text(text="Where"))]
    events = [*heard, lost(), Opened(role="user", turn=1), user_said("Hi")]
    told = live(events, 3)
    assert letters(joined(told)) == "Suc!uceU"
    for place in ("1:2", "1:4", "1:7"):
        assert letters(joined(resumed(events[2:], 3, place, hears_deltas=True))) == "!uceU"


async def test_conversation_that_was_handed_over_is_told_alike() -> None:
    story = stories()["retry in tool round two"]
    whole = await hold(story)
    for at in range(1, len(whole.events)):
        first = await hold_until(at, story, begin(story))
        kept = first.entries
        done = [e for e in kept if not (isinstance(e, Spent) and e.reason == "handed_over")]
        second = await go_on(story, begin(story, done), kept)
        run = replace(second, events=[*first.events, *second.events])
        live_and_replay_agree(run, story)
        resumes_from_every_place(run, story)


def test_lost_worker_between_two_inferences_opens_no_message() -> None:
    """Attempt 0: there was none."""
    hook = HookCalled(index=0, event="before-test", turn=0, url="u", called=True, continued=True, at_ms=1)
    assert letters(joined(replayed([lost(turn=0, attempt=0), hook, user_said("Hi")], 3))) == "!SuceU"
    after: list[Entry] = [user_said("Hi"), lost(role="judge", attempt=0)]
    assert letters(joined(replayed(after, 3))) == "SuceU!"


def test_place_counts_characters_however_they_came() -> None:
    narrator = Narrator(3)
    events = narrator.delta(Opened(role="user", turn=1), 1)
    for chunk in ("Wo", "rte 🙂", "\u2028 mit"):
        events += narrator.delta(Shown(role="user", part=Text(text=chunk)), 1)
    assert [event.id for event in events] == ["1:1", "1:2", "1:4", "1:9", "1:14"]
    assert [event.id for event in narrator.entry(user_said("Worte 🙂\u2028 mit"))] == ["1:15", "1"]


def test_entry_told_in_part_goes_on_in_the_middle_of_a_text() -> None:
    narrator = Narrator(3)
    narrator.skip(4)
    told = joined(narrator.entry(user_said("Hello")))
    assert told[0] == ("chat.user_message.content", {"content": "llo"})


def test_round_that_awaits_another_stays_open() -> None:
    narrator = Narrator(3)
    narrator.entry(user_said("Hi"))
    call = ToolCall(id="c", name="n", arguments="{}")
    result = ToolResult(id="c", name="n", content="r")
    answer = AssistantSpoke(turn=1, round=1, parts=(call, result), usage=USAGE, timing=AT, awaits_round=True)
    assert letters(joined(narrator.entry(answer))) == "aww"


def test_every_event_carries_the_time_at_which_it_happened() -> None:
    narrator = Narrator(3)
    assert [e.at_ms for e in narrator.delta(Opened(role="user", turn=1), 42)] == [42, 42]
    assert {e.at_ms for e in narrator.entry(user_said("Hi"))} == {5}
