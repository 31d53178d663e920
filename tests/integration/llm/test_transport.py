"""One attempt over a real socket, against the scripted server."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from ipaddress import ip_address
from typing import Any

import pytest

from parley.engine.chat.faults import InferenceFault
from parley.engine.chat.pieces import Closing, Piece
from parley.engine.messages import Message, Text, ToolCall
from parley.engine.ports import AttemptOptions, Speaker
from parley.server.llm import transport
from parley.server.llm.demo.behaviours import (
    CallTool,
    Chunks,
    Cut,
    ErrorFrame,
    Hang,
    Html,
    Raw,
    Say,
    Status,
    TaggedBehaviour,
)
from parley.server.llm.demo.script import Rule
from parley.server.llm.demo.server import DemoServer
from parley.server.llm.endpoint import Forwarded, LlmEndpoint, LlmSettings
from parley.server.llm.pool import LlmPool, PoolLimits
from parley.server.outbound.address import IpAddress
from parley.server.outbound.guard import OutboundPolicy
from parley.server.outbound.wire import Wire

HELLO = (Message(role="user", content="Hello"),)
PLAIN = AttemptOptions()
KEY = "sk-live-0123456789"


def play(server: DemoServer, *answers: TaggedBehaviour) -> None:
    server.play(Rule(answers))


def speaker_at(pool: LlmPool, server: DemoServer, **fields: Any) -> Speaker:
    return pool.operator_speaker(LlmEndpoint(base_url=server.base_url, model="m", api_key=KEY, **fields))


async def pieces_of(
    speaker: Speaker,
    messages: Sequence[Message] = HELLO,
    options: AttemptOptions = PLAIN,
    into: list[Piece] | None = None,
) -> list[Piece]:
    heard: list[Piece] = [] if into is None else into
    async with aclosing(speaker.attempt(messages, options)) as pieces:
        async for piece in pieces:
            heard.append(piece)  # noqa: PERF401 - what came before a fault is wanted too
    return heard


async def fault_of(speaker: Speaker, into: list[Piece] | None = None) -> InferenceFault:
    with pytest.raises(InferenceFault) as raised:
        await pieces_of(speaker, into=into)
    return raised.value


def text_of(pieces: Sequence[Piece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, Text))


async def test_words_that_come_together_are_read_together(pool: LlmPool, server: DemoServer) -> None:
    play(server, Say("one two three four five six", gap_ms=1.0))
    pieces = await pieces_of(speaker_at(pool, server))
    assert text_of(pieces) == "one two three four five six"
    assert len(pieces) < 7


async def test_socket_wakes_nobody_while_words_gather(
    pool: LlmPool, server: DemoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads, received = 0, Wire.data_received

    def counted(self: Wire, data: bytes) -> None:
        nonlocal reads
        reads += bool(data)
        received(self, data)

    monkeypatch.setattr(Wire, "data_received", counted)
    words = " ".join(f"word{number}" for number in range(60))
    play(server, Say(words, gap_ms=1.0))
    assert text_of(await pieces_of(speaker_at(pool, server))) == words
    assert reads < 30


async def test_answer_is_streamed_and_closed_once(pool: LlmPool, server: DemoServer) -> None:
    play(server, Say("Good morning to you", gap_ms=30.0))
    pieces = await pieces_of(speaker_at(pool, server))
    assert text_of(pieces) == "Good morning to you"
    assert len(pieces) > 2
    closings = [piece for piece in pieces if isinstance(piece, Closing)]
    assert closings == [pieces[-1]]
    assert closings[0].finish_reason == "stop"
    assert closings[0].usage is not None
    assert closings[0].usage.completion_tokens > 0


async def test_request_carries_settings_key_headers_and_what_is_forwarded(
    pool: LlmPool, server: DemoServer
) -> None:
    endpoint = LlmEndpoint(
        base_url=server.base_url,
        model="m",
        api_key=KEY,
        headers={"X-Team": "blue"},
        system_instruction="Be kind.",
        settings=LlmSettings(temperature=0.3, extra_body={"top_k": 3}),
    )
    forwarded = Forwarded(external_user_id="u-1", metadata={"a": "b"})
    await pieces_of(pool.customer_speaker(endpoint, forwarded))
    sent = server.requests[0]
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.headers["x-team"] == "blue"
    assert sent.headers["accept-encoding"] == "identity"
    assert sent.body["messages"][0] == {"role": "system", "content": "Be kind."}
    assert (sent.body["user"], sent.body["metadata"]) == ("u-1", {"a": "b"})
    assert (sent.body["temperature"], sent.body["top_k"]) == (0.3, 3)
    assert sent.body["stream_options"] == {"include_usage": True}


async def test_connection_is_used_again(pool: LlmPool, server: DemoServer) -> None:
    for gap_ms in (0.0, 1.0, 0.0):
        play(server, Say("one two three", gap_ms=gap_ms))
        await pieces_of(speaker_at(pool, server))
    assert server.stats.connections_seen <= 1


async def test_made_up_call_ids_differ_between_rounds(pool: LlmPool, server: DemoServer) -> None:
    """C051: an id that we make up stays apart from those of earlier rounds."""
    delta = {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{}"}}]}
    play(server, Chunks(chunks=({"choices": [{"index": 0, "delta": delta}]},), finish="tool_calls"))
    ids = set()
    for messages in (HELLO, (*HELLO, Message(role="assistant", content="x"), *HELLO)):
        pieces = await pieces_of(speaker_at(pool, server), messages)
        ids |= {piece.id for piece in pieces if isinstance(piece, ToolCall)}
    assert len(ids) == 2


async def test_tool_call_arrives_whole(pool: LlmPool, server: DemoServer) -> None:
    play(server, CallTool("find", '{"q": "shoes"}'))
    pieces = await pieces_of(speaker_at(pool, server))
    calls = [piece for piece in pieces if isinstance(piece, ToolCall)]
    assert [(call.name, call.arguments) for call in calls] == [("find", '{"q": "shoes"}')]


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (400, "request_refused", False),
        (401, "request_refused", False),
        (404, "request_refused", False),
        (429, "rate_limited", True),
        (500, "http_error", True),
        (503, "http_error", True),
    ],
)
async def test_status_is_a_typed_fault(
    pool: LlmPool, server: DemoServer, status: int, code: str, retryable: bool
) -> None:
    play(server, Status(status, headers={"Retry-After": "7"}))
    fault = await fault_of(speaker_at(pool, server))
    assert (fault.status, fault.code, fault.retryable) == (status, code, retryable)
    assert fault.retry_after_s == 7
    assert server.stats.requests == 1


async def test_one_attempt_is_one_request(pool: LlmPool, server: DemoServer) -> None:
    """C086: the engine's retries are the only ones."""
    play(server, Cut(after=None))
    fault = await fault_of(speaker_at(pool, server))
    assert fault.retryable
    assert server.stats.requests == 1


async def test_redirect_is_a_fault_and_not_followed(pool: LlmPool, server: DemoServer) -> None:
    play(server, Status(307, headers={"Location": server.base_url + "/chat/completions"}))
    for speaker in (
        speaker_at(pool, server),
        pool.customer_speaker(LlmEndpoint(base_url=server.base_url, model="m")),
    ):
        server.reset()
        play(server, Status(307, headers={"Location": server.base_url + "/chat/completions"}))
        assert (await fault_of(speaker)).status == 307
        assert server.stats.requests == 1


async def test_page_instead_of_a_stream_names_its_content_type(pool: LlmPool, server: DemoServer) -> None:
    """C067."""
    play(server, Html())
    fault = await fault_of(speaker_at(pool, server))
    assert fault.code == "not_a_stream"
    assert "text/html" in fault.message


@pytest.mark.parametrize("ending", ["cut", "reset", "finish"])
async def test_cut_stream_gives_what_came_and_then_its_fault(
    pool: LlmPool, server: DemoServer, ending: Any
) -> None:
    play(server, Cut(after=3, ending=ending))
    heard: list[Piece] = []
    fault = await fault_of(speaker_at(pool, server), heard)
    assert fault.code == "stream_cut"
    assert fault.retryable
    if ending != "reset":  # a reset may overtake the bytes before it
        assert text_of(heard)


async def test_answer_that_only_lacks_its_end_is_complete(pool: LlmPool, server: DemoServer) -> None:
    """C070: a finish_reason, then the connection breaks."""
    frame = b'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'
    play(server, Raw(frame, ending="cut"))
    pieces = await pieces_of(speaker_at(pool, server))
    assert text_of(pieces) == "Hi"
    assert isinstance(pieces[-1], Closing)


async def test_open_connection_after_a_finished_answer_is_not_waited_for(
    pool: LlmPool, server: DemoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "TAIL_WAIT_S", 0.05)
    frame = b'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'
    play(server, Raw(frame, ending="hang"))
    pieces = await pieces_of(speaker_at(pool, server))
    assert text_of(pieces) == "Hi"
    assert isinstance(pieces[-1], Closing)
    await until_cancelled(server)


async def test_open_connection_behind_done_is_not_waited_for(pool: LlmPool, server: DemoServer) -> None:
    frame = b'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'
    play(server, Raw(frame + b"data: [DONE]\n\n", ending="hang"))
    assert text_of(await pieces_of(speaker_at(pool, server))) == "Hi"
    await until_cancelled(server)


async def until_cancelled(server: DemoServer) -> None:
    """Wait until the server saw its client leave; a second is the promise."""
    await server.space().wait_until(lambda stats: stats.cancelled > 0, timeout_s=1.0)


@pytest.mark.parametrize("after", [None, 2])
async def test_cancelled_attempt_closes_its_connection(
    pool: LlmPool, server: DemoServer, after: int | None
) -> None:
    """C088: before the first byte and in the middle of the answer."""
    play(server, Hang(after=after))
    task = asyncio.create_task(pieces_of(speaker_at(pool, server)))
    await server.space().wait_until(lambda stats: stats.open > 0, timeout_s=5.0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until_cancelled(server)


async def test_closed_generator_closes_its_connection(pool: LlmPool, server: DemoServer) -> None:
    play(server, Hang(after=2))
    async with aclosing(speaker_at(pool, server).attempt(HELLO, PLAIN)) as pieces:
        assert isinstance(await anext(pieces), Text)
    await until_cancelled(server)


async def test_waiting_reader_may_set_a_deadline_of_its_own(pool: LlmPool, server: DemoServer) -> None:
    play(server, Hang(after=1, comment_every_ms=5.0))
    heard: list[Piece] = []
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await pieces_of(speaker_at(pool, server), into=heard)
    assert heard
    await until_cancelled(server)


async def test_closed_port_is_a_failed_connection_without_its_address(pool: LlmPool) -> None:
    probe = socket.create_server(("127.0.0.1", 0))
    port = probe.getsockname()[1]
    probe.close()
    endpoint = LlmEndpoint(base_url=f"http://127.0.0.1:{port}/v1", model="m")
    for speaker in (pool.operator_speaker(endpoint), pool.customer_speaker(endpoint)):
        fault = await fault_of(speaker)
        assert (fault.code, fault.retryable) == ("connect_failed", True)
        assert "127" not in fault.message
        assert str(port) not in fault.message


async def test_connecting_has_a_time_limit() -> None:
    async def never(_host: str, _port: int) -> list[IpAddress]:
        await asyncio.Event().wait()
        return []

    pool = LlmPool(PoolLimits(connect_timeout_s=0.05), OutboundPolicy(), lookup=never)
    fault = await fault_of(pool.customer_speaker(LlmEndpoint(base_url="http://a.example/v1", model="m")))
    await pool.close()
    assert (fault.code, fault.retryable) == ("connect_failed", True)
    assert "0.05 seconds" in fault.message


async def test_something_that_is_not_http_is_told_so(pool: LlmPool, server: DemoServer) -> None:
    play(server, Raw(b"SSH-2.0-OpenSSH_9.2\r\n\r\n", bare=True))
    assert (await fault_of(speaker_at(pool, server))).code == "stream_malformed"


@pytest.mark.parametrize("bad", ["line\nbreak", "nul\x00"])
async def test_key_that_http_cannot_carry_is_a_fault(pool: LlmPool, server: DemoServer, bad: str) -> None:
    endpoint = LlmEndpoint(base_url=server.base_url, model="m", api_key=bad)
    fault = await fault_of(pool.operator_speaker(endpoint))
    assert (fault.code, fault.retryable) == ("connect_failed", False)
    assert bad not in fault.message


async def test_compressed_stream_is_refused(pool: LlmPool, server: DemoServer) -> None:
    body = gzip.compress(b"data: [DONE]\n\n")
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n"
    play(server, Raw(head + b"Content-Length: %d\r\n\r\n" % len(body) + body, bare=True))
    fault = await fault_of(speaker_at(pool, server))
    assert fault.code == "not_a_stream"
    assert "compressed" in fault.message


# What of a provider's words may be read


def echoed(secret: str) -> str:
    return f'{{"error": {{"message": "The key {secret} is not known here"}}}}'


@asynccontextmanager
async def public_pool(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LlmPool]:
    """A pool for which loopback is the public internet."""
    monkeypatch.setattr("parley.server.outbound.guard.is_public", lambda _ip: True)
    monkeypatch.setattr("parley.server.outbound.wires.is_public", lambda _ip: True)

    async def lookup(_host: str, _port: int) -> list[IpAddress]:
        return [ip_address("127.0.0.1")]

    pool = LlmPool(PoolLimits(), OutboundPolicy(), lookup=lookup)
    yield pool
    await pool.close()


@pytest.mark.parametrize("answer", [Status(401, body=echoed(KEY)), ErrorFrame(f"No credit on {KEY}")])
async def test_own_key_is_masked_in_a_providers_words(
    server: DemoServer, monkeypatch: pytest.MonkeyPatch, answer: TaggedBehaviour
) -> None:
    play(server, answer)
    endpoint = LlmEndpoint(base_url=server.base_url, model="m", api_key=KEY)
    async with public_pool(monkeypatch) as pool:
        for speaker in (pool.operator_speaker(endpoint), pool.customer_speaker(endpoint)):
            fault = await fault_of(speaker)
            assert KEY not in fault.message
            assert "[hidden]" in fault.message


async def test_secret_header_is_masked_too(server: DemoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    play(server, Status(403, body=echoed("hush-hush")))
    endpoint = LlmEndpoint(base_url=server.base_url, model="m", headers={"X-Key": "hush-hush"})
    async with public_pool(monkeypatch) as pool:
        fault = await fault_of(pool.customer_speaker(endpoint))
    assert "hush-hush" not in fault.message
    assert "is not known here" in fault.message


@pytest.mark.parametrize(
    "answer",
    [
        Status(500, body='{"error": {"message": "canary"}}'),
        Status(500, body="canary"),
        ErrorFrame("canary"),
        Raw(b"data: canary\n\n"),
        Raw(b"canary", content_type="text/canary"),
        Html(title="canary"),
    ],
)
async def test_only_the_status_leaves_an_allowed_inner_network(
    pool: LlmPool, server: DemoServer, answer: TaggedBehaviour
) -> None:
    play(server, answer)
    endpoint = LlmEndpoint(base_url=server.base_url, model="m")
    fault = await fault_of(pool.customer_speaker(endpoint))
    assert "canary" not in fault.message
    assert "html" not in fault.message
    if isinstance(answer, Status):
        assert "500" in fault.message


async def test_customers_gateway_inside_is_refused(server: DemoServer) -> None:
    """C130: unless the operator lists the network."""
    pool = LlmPool(PoolLimits(), OutboundPolicy())
    endpoint = LlmEndpoint(base_url=server.base_url, model="m")
    fault = await fault_of(pool.customer_speaker(endpoint))
    assert (fault.code, fault.retryable) == ("address_refused", False)
    assert "127" not in fault.message
    assert server.stats.requests == 0
    assert text_of(await pieces_of(pool.operator_speaker(endpoint)))
    await pool.close()


@pytest.mark.parametrize("written", ["http://u:p@127.0.0.1", "http://127.0.0.1\\", "http://%31%32%37.0.0.1"])
async def test_customers_gateway_address_is_read_strictly(
    pool: LlmPool, server: DemoServer, written: str
) -> None:
    """C111, C112: even where the host itself may be called."""
    base_url = server.base_url.replace("http://127.0.0.1", written)
    fault = await fault_of(pool.customer_speaker(LlmEndpoint(base_url=base_url, model="m")))
    assert fault.code == "address_refused"
    assert server.stats.requests == 0


async def test_environments_proxy_is_ignored(
    pool: LlmPool, server: DemoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    endpoint = LlmEndpoint(base_url=server.base_url, model="m")
    assert text_of(await pieces_of(pool.operator_speaker(endpoint)))
    assert text_of(await pieces_of(pool.customer_speaker(endpoint)))
