"""What a wire makes of bytes: where an answer ends, what it refuses, and when it may be used again."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from parley.server.outbound.wire import BUFFERED_BYTES, MAX_HEAD_BYTES, AnswerCut, MalformedAnswer, Wire

CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nX-After: 1\r\n\r\n"
)
SIZED = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class StubTransport:
    """Notes what is done with it; what was written has left, unless `stuck_bytes` says otherwise."""

    def __init__(self) -> None:
        self.written = b""
        self.is_reading = True
        self.stuck_bytes = 0
        self.ended: str | None = None

    def write(self, data: bytes) -> None:
        self.written += data

    def get_write_buffer_size(self) -> int:
        return self.stuck_bytes

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True

    def is_closing(self) -> bool:
        return self.ended is not None

    def close(self) -> None:
        self.ended = "closed"

    def abort(self) -> None:
        self.ended = "aborted"


def opened() -> tuple[Wire, StubTransport]:
    wire, transport = Wire(), StubTransport()
    wire.connection_made(cast("asyncio.Transport", transport))
    return wire, transport


async def answered(*pieces: bytes) -> tuple[Wire, StubTransport, int, bytes]:
    """A wire that was asked and got these bytes, with status and body of its answer."""
    wire, transport = opened()
    asking = asyncio.create_task(wire.ask(b"POST"))
    await asyncio.sleep(0)
    for piece in pieces:
        wire.data_received(piece)
    head, body = await asking, b""
    while chunk := await wire.read():
        body += chunk
    return wire, transport, head.status, body


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
async def test_chunked_answer_is_read_wherever_it_is_cut(size: int) -> None:
    pieces = [CHUNKED[at : at + size] for at in range(0, len(CHUNKED), size)]
    wire, transport, status, body = await answered(*pieces)
    assert (status, body) == (200, b"hello world")
    assert wire.may_stay
    assert transport.written == b"POST"


async def test_names_are_lower_case_and_the_first_value_counts() -> None:
    wire, _ = opened()
    asking = asyncio.create_task(wire.ask(b""))
    await asyncio.sleep(0)
    wire.data_received(b"HTTP/1.1 429 Slow\r\nRetry-After: 3\r\nRETRY-AFTER: 9\r\nContent-Length: 0\r\n\r\n")
    assert (await asking).headers == {"retry-after": "3", "content-length": "0"}


async def test_interim_answers_are_passed_over() -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    for pieces in ([interim + SIZED], [interim, SIZED]):
        wire, _, status, body = await answered(*pieces)
        assert (status, body, wire.may_stay) == (200, b"ok", True)


@pytest.mark.parametrize(
    "behind", [b"x", SIZED, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", b"garbage\r\n\r\n"]
)
async def test_more_than_was_asked_for_ends_the_connection(behind: bytes) -> None:
    """What came behind an answer must never be taken for the next one."""
    wire, _, _, body = await answered(SIZED + behind)
    assert body == b"ok"
    assert not wire.may_stay
    wire, transport, _, body = await answered(SIZED)
    assert wire.may_stay
    wire.data_received(behind)
    assert transport.ended
    assert not wire.may_stay


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
    ],
)
async def test_connection_that_the_server_ends_is_not_used_again(answer: bytes) -> None:
    wire, _, _, body = await answered(answer)
    assert body == b"ok"
    assert not wire.may_stay


async def test_answer_before_the_request_has_left_is_not_followed_by_another() -> None:
    wire, transport, _, _ = await answered(SIZED)
    transport.stuck_bytes = 1
    assert not wire.may_stay


async def test_body_without_a_length_ends_with_its_connection() -> None:
    wire, _ = opened()
    asking = asyncio.create_task(wire.ask(b""))
    await asyncio.sleep(0)
    wire.data_received(b"HTTP/1.1 200 OK\r\n\r\nall of")
    wire.data_received(b" it")
    await asking
    wire.connection_lost(None)
    assert await wire.read() == b"all of it"
    assert await wire.read() == b""
    assert not wire.may_stay


@pytest.mark.parametrize(
    "begun",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
    ],
)
async def test_cut_answer_gives_what_came_and_then_its_fault(begun: bytes) -> None:
    wire, _ = opened()
    asking = asyncio.create_task(wire.ask(b""))
    await asyncio.sleep(0)
    wire.data_received(begun)
    wire.connection_lost(None)
    await asking
    assert await wire.read() == b"ok"
    with pytest.raises(AnswerCut):
        await wire.read()


async def test_connection_lost_before_the_head_is_a_fault() -> None:
    wire, _ = opened()
    asking = asyncio.create_task(wire.ask(b""))
    await asyncio.sleep(0)
    wire.connection_lost(ConnectionResetError())
    with pytest.raises(AnswerCut):
        await asking
    with pytest.raises(AnswerCut):
        await wire.ask(b"")


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-Long: ",
    ],
)
async def test_what_is_no_answer_is_refused_and_dropped(answer: bytes) -> None:
    wire, transport = opened()
    asking = asyncio.create_task(wire.ask(b""))
    await asyncio.sleep(0)
    wire.data_received(answer)
    if not transport.ended:  # the head that never ends
        for _ in range(MAX_HEAD_BYTES // 1_000 + 1):
            wire.data_received(b"x" * 1_000)
    with pytest.raises(MalformedAnswer):
        await asking
    assert transport.ended == "aborted"


async def test_body_that_nobody_reads_is_not_listened_to() -> None:
    wire, transport = opened()
    asking = asyncio.create_task(wire.ask(b""))
    await asyncio.sleep(0)
    wire.data_received(b"HTTP/1.1 200 OK\r\n\r\n")
    await asking
    wire.data_received(b"x" * (BUFFERED_BYTES + 1))
    assert not transport.is_reading
    assert len(await wire.read()) == BUFFERED_BYTES + 1
    assert transport.is_reading


async def test_cancelled_reader_leaves_a_wire_that_can_only_be_dropped() -> None:
    wire, transport = opened()
    asking = asyncio.create_task(wire.ask(b""))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert not wire.may_stay
    wire.close()
    assert transport.ended == "aborted"
