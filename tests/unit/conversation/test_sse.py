"""Events on the wire of server-sent events."""

from __future__ import annotations

import asyncio
import dataclasses
import json

import pytest

from parley.server.conversation.narrate import WireEvent
from parley.server.conversation.sse import PING, Outgoing, Patience, encoded

PATIENCE = Patience(ping_s=30.0, most_waiting_bytes=1_000_000, stalled_s=60.0)
SEPARATORS = "\r\n|\r|\n|\x0b|\x0c|\x1c|\x1d|\x1e|\x85|\u2028|\u2029"


def event(text: str, event_id: str = "3:14") -> WireEvent:
    return WireEvent(event_id, "chat.user_message.content", {"content": text}, 1_700_000_000_123)


def data_of(raw: bytes) -> dict[str, object]:
    (line,) = [line for line in raw.decode().splitlines() if line.startswith("data: ")]
    read: dict[str, object] = json.loads(line.removeprefix("data: "))
    return read


def test_event_has_an_id_and_one_data_line() -> None:
    assert encoded(event("Hello")) == (
        b"id: 3:14\n"
        b'data: {"timestamp":1700000000123,"event":{"type":"chat.user_message.content",'
        b'"data":{"content":"Hello"}}}\n\n'
    )


@pytest.mark.parametrize("separator", SEPARATORS.split("|"), ids=ascii)
def test_no_character_of_a_text_splits_a_line(separator: str) -> None:
    """C095: also for readers that split at all that Unicode calls a line end."""
    text = f"one{separator}two{separator}{separator}three"
    raw = encoded(event(text))
    assert len(raw.decode().splitlines()) == 3, "id, data, and the empty line"
    assert raw.count(b"\n") == 3
    assert b"\r" not in raw
    assert data_of(raw)["event"] == {"type": "chat.user_message.content", "data": {"content": text}}


@pytest.mark.parametrize(
    "text",
    [
        "",
        '"quoted" \\ back',
        "data: x\n\nid: 1\n\n",
        "\\u2028",
        "\\\u2028",
        "Grüße 🙂 \u0905\u200d",
        "\u00c2\u0085x",
        "\ufffd\x7f\x01",
    ],
)
def test_text_comes_out_as_it_went_in(text: str) -> None:
    raw = encoded(event(text))
    assert data_of(raw)["event"] == {"type": "chat.user_message.content", "data": {"content": text}}


async def test_waiting_events_leave_together_and_in_order() -> None:
    outgoing = Outgoing(PATIENCE)
    outgoing.put([event("a", "1:1"), event("b", "1:2")])
    outgoing.put([event("c", "1")])
    outgoing.close()
    batches = [batch async for batch in outgoing.batches()]
    assert batches == [encoded(event("a", "1:1")) + encoded(event("b", "1:2")) + encoded(event("c", "1"))]


async def test_what_comes_while_a_batch_is_sent_is_not_lost() -> None:
    outgoing = Outgoing(PATIENCE)
    batches = outgoing.batches()
    outgoing.put([event("a")])
    first = await anext(batches)
    outgoing.put([event("b")])
    outgoing.put([event("c")])
    outgoing.close()
    rest = [batch async for batch in batches]
    assert b"".join([first, *rest]) == b"".join(encoded(event(text)) for text in "abc")


async def test_silence_is_filled_with_comments() -> None:
    outgoing = Outgoing(dataclasses.replace(PATIENCE, ping_s=0.01))
    batches = outgoing.batches()
    assert [await anext(batches), await anext(batches)] == [PING, PING]
    outgoing.put([event("a")])
    assert await anext(batches) == encoded(event("a"))
    outgoing.close()
    assert [batch async for batch in batches if batch != PING] == []


async def test_closing_ends_a_stream_that_waits() -> None:
    outgoing = Outgoing(PATIENCE)

    async def read() -> list[bytes]:
        return [batch async for batch in outgoing.batches()]

    reading = asyncio.create_task(read())
    await asyncio.sleep(0)
    outgoing.close()
    assert await reading == []


async def test_conversation_waits_for_a_reader_who_is_far_behind() -> None:
    outgoing = Outgoing(PATIENCE)
    outgoing.put([event("x" * (PATIENCE.most_waiting_bytes + 1))])
    waiting = asyncio.create_task(outgoing.has_room())
    await asyncio.sleep(0)
    assert not waiting.done()
    batches = outgoing.batches()
    await anext(batches)
    following = asyncio.create_task(anext(batches))  # the first batch counts as taken when the next is wanted
    assert await waiting
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


async def test_reader_who_takes_nothing_counts_as_gone() -> None:
    outgoing = Outgoing(dataclasses.replace(PATIENCE, stalled_s=0.01))
    outgoing.put([event("x" * (PATIENCE.most_waiting_bytes + 1))])
    assert not await outgoing.has_room()


async def test_reader_who_keeps_up_is_never_waited_for() -> None:
    outgoing = Outgoing(PATIENCE)
    outgoing.put([event("x" * 1_000)])
    assert await outgoing.has_room()
