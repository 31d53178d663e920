"""What is shown gathers until a batch leaves, and nothing of it is lost or moved."""

from __future__ import annotations

import orjson

from parley.engine.chat.pieces import Usage
from parley.engine.events import Delta, Opened, Shown, Timing, UserSpoke
from parley.engine.messages import Reasoning, Text
from parley.server.conversation.narrate import Narrator
from parley.server.conversation.sse import Patience
from parley.server.conversation.telling import Telling

PATIENCE = Patience(ping_s=30.0, most_waiting_bytes=1_000_000, stalled_s=60.0)

MAX_TURNS = 3


def said(text: str) -> Shown:
    return Shown(role="user", part=Text(text=text))


def thought(text: str) -> Shown:
    return Shown(role="user", part=Reasoning(text=text))


ENTRY = UserSpoke(
    turn=1,
    parts=(Reasoning(text="hm"), Text(text="Hello there.")),
    usage=Usage(model="m"),
    timing=Timing(at_ms=9, took_ms=1),
)
DELTAS: tuple[Delta, ...] = (Opened(role="user", turn=1), thought("h"), thought("m"), said("Hel"), said("lo"))


async def events_of(telling: Telling) -> list[tuple[str, str, dict[str, str]]]:
    telling.outgoing.close()
    sent = b"".join([batch async for batch in telling.outgoing.batches()]).decode()
    frames = [frame.split("\n") for frame in sent.strip().split("\n\n")]
    return [
        (head.removeprefix("id: "), event["type"], event["data"])
        for head, line in frames
        for event in [orjson.loads(line.removeprefix("data: "))["event"]]
    ]


async def test_neighbouring_words_of_one_kind_are_one_event_with_the_id_of_the_last() -> None:
    telling = Telling(Narrator(MAX_TURNS), PATIENCE)
    for delta in DELTAS:
        telling.show(delta, at_ms=1)
    assert (await events_of(telling))[2:] == [
        ("1:4", "chat.user_message.reasoning", {"reasoning_content": "hm"}),
        ("1:9", "chat.user_message.content", {"content": "Hello"}),
    ]


async def test_entry_comes_behind_what_was_shown_and_tells_only_the_rest() -> None:
    telling = Telling(Narrator(MAX_TURNS), PATIENCE)
    for delta in DELTAS:
        telling.show(delta, at_ms=1)
    telling.keep(ENTRY)
    words = [data["content"] for _, kind, data in await events_of(telling) if kind.endswith(".content")]
    assert words == ["Hello", " there."]


async def test_words_before_and_after_a_batch_are_told_once() -> None:
    telling = Telling(Narrator(MAX_TURNS), PATIENCE)
    for delta in DELTAS:
        telling.show(delta, at_ms=1)
    batches = telling.outgoing.batches()
    first = await anext(batches)
    telling.show(said(" there."), at_ms=2)
    telling.outgoing.close()
    rest = b"".join([batch async for batch in batches])
    assert b'"content":"Hello"' in first
    assert b'"content":" there."' in rest
    assert b"Hello" not in rest
