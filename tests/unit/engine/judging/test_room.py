"""However much was said, the judge's request has its bound, and who said little loses nothing."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parley.engine.capped import shared_out
from parley.engine.judging.prompt import MAX_BACKGROUND_CHARS, MAX_PROMPT_CHARS, judge_messages
from parley.engine.judging.transcript import MAX_TRANSCRIPT_CHARS, transcript
from parley.engine.messages import Message, Text, ToolCall, ToolResult
from parley.engine.spec import Spec
from parley.engine.talk import Exchange
from tests.unit.engine.judging.talks import answered, exchange

# Lengths rather than texts: what hypothesis draws is small, what is told may be large.
LETTERS = st.sampled_from(["a", "\n", '"', "\x00", "\u2028", "\U0001f600"])
TEXTS = st.builds(lambda letter, times: letter * times, LETTERS, st.sampled_from([0, 1, 60, 5_000, 90_000]))
TURNS = st.lists(st.tuples(TEXTS, TEXTS, TEXTS, st.integers(0, 40)), max_size=12)


def talk_of(turns: list[tuple[str, str, str, int]]) -> list[Exchange]:
    """A turn each: what the user says, the answer, what each of its tool calls gives back."""
    return [
        exchange(
            turn,
            user,
            answered(
                turn,
                *(ToolCall(id=f"c{call}", name=tool[:400], arguments=tool) for call in range(calls)),
                *(ToolResult(id=f"c{call}", name="t", content=tool) for call in range(calls)),
                Text(text=answer),
            ),
        )
        for turn, (user, answer, tool, calls) in enumerate(turns, 1)
    ]


def told(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.split("\n")] if text else []


@settings(max_examples=60, deadline=None)
@given(
    turns=TURNS,
    start=st.lists(TEXTS, max_size=20),
    goal=TEXTS,
    criteria=st.none() | TEXTS,
    resources=st.lists(TEXTS, max_size=16),
    problem=st.none() | TEXTS,
)
def test_whole_request_has_a_bound_whatever_was_said(
    turns: list[tuple[str, str, str, int]],
    start: list[str],
    goal: str,
    criteria: str | None,
    resources: list[str],
    problem: str | None,
) -> None:
    spec = Spec(
        goal=goal,
        seed=1,
        validation_criteria=criteria,
        resources=tuple(resources),
        start=tuple(Message(role="user", content=text) for text in start),
    )
    request = judge_messages(spec, talk_of(turns), len(turns), problem)
    assert sum(len(str(message.content)) for message in request) <= MAX_PROMPT_CHARS


@settings(max_examples=60, deadline=None)
@given(turns=TURNS, most=st.integers(2_000, 60_000))
def test_talk_within_its_bound_is_whole_and_a_longer_one_loses_from_its_longest_texts(
    turns: list[tuple[str, str, str, int]], most: int
) -> None:
    spec, talk = Spec(goal="g", seed=1), talk_of(turns)
    whole, cut = transcript(spec, talk, 10**9), transcript(spec, talk, most)
    assert len(cut) <= most
    if len(whole) <= most:
        assert cut == whole
    before, after = told(whole), told(cut)
    if any("lines_left_out" in line for line in after):
        [place] = [place for place, line in enumerate(after) if "lines_left_out" in line]
        assert len(after) - 1 + after[place]["lines_left_out"] == len(before)
        before = before[:place] + before[len(before) - (len(after) - place - 1) :]
        after = after[:place] + after[place + 1 :]
    assert [(line["turn"], line.get("from")) for line in after] == [
        (line["turn"], line.get("from")) for line in before
    ]
    shortened = [is_shorter(*pair) for pair in zip(before, after, strict=True)]
    shortest_cut = min((length_of(b) for b, s in zip(before, shortened, strict=True) if s), default=10**9)
    assert all(s or length_of(b) <= 32_000 + 60 for b, s in zip(before, shortened, strict=True))
    assert not any(s and length_of(b) < shortest_cut for b, s in zip(before, shortened, strict=True))


def length_of(line: dict[str, Any]) -> int:
    """Of the text in a line."""
    return len(next((line[name] for name in ("text", "arguments", "content") if name in line), ""))


def is_shorter(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Whether a line has lost more than before, and says so."""
    if before == after:
        return False
    assert after["characters_left_out"] > before.get("characters_left_out", 0)
    return True


def test_short_answer_beside_long_ones_stays_whole_and_the_cut_ones_are_alike() -> None:
    talk = [exchange(turn, "x" * 30_000, "y" * 30_000) for turn in range(1, 20)]
    talk.append(exchange(20, "Where is my parcel?", "It is lost."))
    lines = told(transcript(Spec(goal="g", seed=1), talk))
    assert [line["text"] for line in lines[-2:]] == ["Where is my parcel?", "It is lost."]
    cut = lines[:-2]
    assert len({line["characters_left_out"] for line in cut}) == 1
    kept = 30_000 - cut[0]["characters_left_out"]
    assert kept * len(cut) > MAX_TRANSCRIPT_CHARS * 0.7, "the room is used"


def test_too_many_lines_lose_their_middle_and_keep_where_the_talk_stands() -> None:
    talk = [exchange(turn, f"question {turn}", f"answer {turn}") for turn in range(1, 400)]
    lines = told(transcript(Spec(goal="g", seed=1), talk, 10_000))
    [gap] = [place for place, line in enumerate(lines) if "lines_left_out" in line]
    assert lines[gap] == {"lines_left_out": 2 * 399 - (len(lines) - 1)}
    assert (lines[0]["text"], lines[-1]["text"]) == ("question 1", "answer 399")
    assert len(lines) - gap > 2 * gap, "more of what was said last"


@given(lengths=st.lists(st.integers(0, 5_000), max_size=16), most=st.integers(0, 20_000))
def test_room_is_shared_out_fairly(lengths: list[int], most: int) -> None:
    texts = ["r" * length for length in lengths]
    found = shared_out(texts, most)
    if sum(lengths) <= most:
        assert found == texts
        return
    kept = [len(re.sub(r"\[\.\.\. \d+ characters left out \.\.\.\]", "", text)) for text in found]
    assert sum(kept) <= most
    level = max(kept)
    assert kept == [min(length, level) for length in lengths]
    assert sum(kept) > most - len(texts), "nothing is left out without need"


def test_background_that_was_cut_says_so() -> None:
    spec = Spec(goal="g", seed=1, resources=("short one", "b" * 150_000, "c" * 150_000))
    text = str(judge_messages(spec, [], 1, None)[1].content)
    assert "short one" in text
    assert text.count("characters left out ...]") == 2
    assert text.count("b" * 1_000) + text.count("c" * 1_000) > MAX_BACKGROUND_CHARS * 0.9 / 1_000


@pytest.mark.parametrize("limit", [1, 100, 2_000])
def test_smallest_bounds_hold_too(limit: int) -> None:
    talk = [exchange(turn, "x" * 500, "y" * 500) for turn in range(1, 10)]
    assert len(transcript(Spec(goal="g", seed=1), talk, limit)) <= max(limit, 40)
