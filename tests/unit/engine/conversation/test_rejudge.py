"""Kept conversations judged again."""

from __future__ import annotations

from contextlib import aclosing

import pytest

from parley.engine.converse import converse
from parley.engine.events import Entry, Opened, Opinion, Shown, Spent
from parley.engine.fakes import Reply, ScriptedSpeaker, StillClock, fails, opinion, says, scripted_parties
from parley.engine.ports import Deadlines
from parley.engine.rejudge import Rejudged, judge_again
from tests.unit.engine.conversation.stories import hooks_on, spec_with

SPEC = spec_with(max_turns=3)


async def kept(*opinions: str) -> list[Entry]:
    """The entries of a conversation that was judged so."""
    turns = len(opinions)
    parties = scripted_parties(
        user=[says(f"Question {turn}.") for turn in range(turns)],
        gateway=[says(f"Answer {turn}.") for turn in range(turns)],
        judge=[opinion(score) for score in opinions],
    )
    async with aclosing(converse(SPEC, parties)) as events:
        return [event async for event in events if not isinstance(event, Opened | Shown)]


async def again(
    entries: list[Entry], *replies: Reply
) -> tuple[Rejudged, ScriptedSpeaker, list[Opinion | Spent]]:
    judge = ScriptedSpeaker(replies, model="other")
    spent: list[Opinion | Spent] = []
    found = await judge_again(SPEC, entries, judge, StillClock(), Deadlines(), spent.append)
    return found, judge, spent


async def test_the_same_words_get_new_opinions_and_a_verdict_of_their_own() -> None:
    found, judge, spent = await again(await kept("0.5", "0.5", "0.95"), *map(opinion, ("0.5", "0.1", "0.1")))
    assert found.verdict is not None
    assert (found.verdict.outcome, found.verdict.turn_number) == ("loss", 3)
    assert [made.turn for made in found.opinions] == [1, 2, 3]
    assert "Answer 1." in judge.asked[1].text
    assert "Answer 2." not in judge.asked[1].text, "a turn is judged by what was said up to it"
    assert len(spent) == 3


async def test_an_earlier_end_is_an_end() -> None:
    found, judge, _ = await again(await kept("0.5", "0.5", "0.5"), opinion("0.95"))
    assert found.verdict is not None
    assert (found.verdict.outcome, found.verdict.turn_number) == ("success", 1)
    assert len(judge.asked) == 1


async def test_words_that_end_too_early_for_this_judge_have_no_verdict() -> None:
    found, _, _ = await again(await kept("0.95"), opinion("0.6"))
    assert (found.verdict, found.failure, len(found.opinions)) == (None, None, 1)


async def test_attempts_that_fail_are_spent_and_a_judge_that_gives_up_is_a_failure() -> None:
    entries = await kept("0.95")
    found, _, spent = await again(entries, fails(status=503), says("No JSON."), opinion("0.95"))
    assert found.verdict is not None
    assert [made.kind for made in spent] == ["spent", "spent", "opinion"]
    found, _, spent = await again(entries, *[says("No JSON.")] * 3)
    assert found.failure is not None
    assert (found.failure.scope, len(spent)) == ("judge_analysis", 3)


async def test_hooks_are_never_called_again() -> None:
    with pytest.raises(ValueError, match="no hooks"):
        await judge_again(
            spec_with(hooks=hooks_on("before-test")),
            [],
            ScriptedSpeaker(),
            StillClock(),
            Deadlines(),
            list[Opinion | Spent]().append,
        )
