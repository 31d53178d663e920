"""A conversation goes on after any entry as if nothing had happened."""

from __future__ import annotations

import pytest

from parley.engine.events import Ended
from parley.engine.fakes import Asked
from parley.engine.state import fold
from tests.unit.engine.conversation.stories import (
    Held,
    Story,
    begin,
    go_on,
    hold,
    hold_until,
    random_stories,
    read_again,
    stories,
    without_times,
)

RANDOM_STORIES = 60


def asked_by(run: Held) -> list[list[Asked]]:
    return [run.user.asked, run.gateway.asked, run.judge.asked]


async def goes_on_after_every_entry(story: Story) -> None:
    whole = await hold(story)
    assert isinstance(whole.entries[-1], Ended)
    for cut in range(len(whole.entries) + 1):
        kept = read_again(whole.entries[:cut])
        rest = await hold(story, kept)
        assert without_times([*kept, *rest.entries]) == without_times(whole.entries), f"cut after {cut}"
        for all_asked, asked in zip(asked_by(whole), asked_by(rest), strict=True):
            assert asked == all_asked[len(all_asked) - len(asked) :], "the very same requests"
        hooks_before = len(whole.hooks.calls) - len(rest.hooks.calls)
        assert rest.hooks.calls == whole.hooks.calls[hooks_before:], "no hook is called again"


@pytest.mark.parametrize("name", sorted(stories()))
async def test_conversation_goes_on_after_every_entry(name: str) -> None:
    await goes_on_after_every_entry(stories()[name])


@pytest.mark.slow
async def test_any_conversation_goes_on_after_every_entry() -> None:
    for _seed, story in random_stories(RANDOM_STORIES):
        await goes_on_after_every_entry(story)


async def test_rich_story_is_rich() -> None:
    """What the tests above rest on."""
    run = await hold(stories()["rich"])
    codes = {spent.code for spent in run.spent}
    assert codes == {
        *("connect_failed", "reply_empty", "reply_role_swap", "stream_cut", "http_error", "rate_limited"),
        *("opinion_without_object", "response_format_refused"),
    }
    assert run.outcome == ("incomplete", "simulated_user_ended_conversation", "ended", 4)


async def test_random_stories_end_in_every_way() -> None:
    """What the tests above rest on."""
    ends: set[str] = set()
    for _seed, story in random_stories(RANDOM_STORIES):
        ended = (await hold(story)).ended
        ends.add(ended.verdict.reason if ended.verdict else ended.failure.code if ended.failure else "")
    assert ends == {
        *("baseline_reached", "loss_threshold_persisted", "simulated_user_ended_conversation"),
        *("max_turns_reached", "validation_hook_interrupted"),
        *("user_inference", "gateway_inference", "judge_analysis"),
    }


async def test_same_seed_and_scripts_give_the_same_conversation() -> None:
    for _seed, story in random_stories(20):
        assert without_times((await hold(story)).entries) == without_times((await hold(story)).entries)


async def test_ended_conversation_stays_as_it_is() -> None:
    story = stories()["success"]
    whole = await hold(story)
    again = await hold(story, whole.entries)
    assert again.events == []
    assert again.guard.asked_turns == []


async def test_conversation_handed_over_at_every_event_says_the_same() -> None:
    """A worker that leaves in the middle of anything costs an attempt at most, and changes no word."""
    story = stories()["retry in tool round two"]
    whole = await hold(story)
    said = [entry for entry in without_times(whole.entries) if entry["kind"] != "spent"]
    for at in range(len(whole.events)):
        first = begin(story)
        await hold_until(at, story, first)
        kept = read_again(first.entries)
        dropped = sum(spent.reason == "handed_over" for spent in first.spent)
        assert dropped <= 1
        second = begin(story, [e for e in kept if e.kind != "spent" or e.reason != "handed_over"])
        rest = await go_on(story, second, kept)
        again = [entry for entry in without_times([*kept, *rest.entries]) if entry["kind"] != "spent"]
        assert again == said
        assert fold([*kept, *rest.entries]).ended
