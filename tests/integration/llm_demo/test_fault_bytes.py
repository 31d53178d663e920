"""Each fault puts onto the wire what it promises: read over a bare socket, asked for by name."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson
import pytest

from parley.server.llm.demo import FAULTS, DemoServer
from parley.server.llm.demo.faults import STATUS_FAULTS

SILENCE_S = 0.15
READ_AT_MOST_BYTES = 1 << 21


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """The bytes of one answer, and how the connection was left."""

    head: bytes
    body: bytes
    reset: bool
    still_open: bool

    @property
    def status(self) -> int:
        """The status, 0 without one."""
        words = self.head.split(b" ", 2)
        return int(words[1]) if self.head.startswith(b"HTTP/") else 0

    @property
    def stream(self) -> bytes:
        """The body without its chunked framing, as far as it goes."""
        rest, out = self.body, b""
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            out += rest[: int(size, 16)]
            rest = rest[int(size, 16) + 2 :]
        return out

    @property
    def is_whole(self) -> bool:
        """Whether the chunked body was brought to its end."""
        return self.body.endswith(b"0\r\n\r\n")

    @property
    def chunks(self) -> list[dict[str, Any]]:
        """The JSON frames of the stream, line by line."""
        lines = self.stream.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        found = [line.removeprefix(b"data:").strip() for line in lines if line.startswith(b"data:")]
        return [orjson.loads(one) for one in found if one.startswith(b"{")]

    @property
    def deltas(self) -> list[Any]:
        """The delta of every choice."""
        return [choice["delta"] for chunk in self.chunks for choice in chunk["choices"]]

    @property
    def text(self) -> str:
        """All string contents, joined."""
        words = [(change or {}).get("content") for change in self.deltas]
        return "".join(word for word in words if isinstance(word, str))

    @property
    def calls(self) -> list[dict[str, Any]]:
        """All pieces of tool calls."""
        return [call for change in self.deltas for call in (change or {}).get("tool_calls", ())]

    @property
    def arguments(self) -> str:
        """The arguments of all pieces, joined."""
        return "".join(call["function"]["arguments"] for call in self.calls)

    @property
    def finish(self) -> list[str]:
        """The finish reasons."""
        reasons = [choice["finish_reason"] for chunk in self.chunks for choice in chunk["choices"]]
        return [reason for reason in reasons if reason]

    @property
    def usage(self) -> list[Any]:
        """The usage of every chunk that has the field."""
        return [chunk["usage"] for chunk in self.chunks if "usage" in chunk]

    @property
    def done(self) -> bool:
        """Whether [DONE] was said."""
        return b"[DONE]" in self.stream


async def ask(server: DemoServer, llm: str, *, stream: bool = True) -> RawAnswer:
    """Ask for usage as well; read until the end, the limit, or silence."""
    host, _, port = server.address.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    fields = {
        "model": llm,
        "stream": stream,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": "hi"}],
    }
    body = orjson.dumps(fields)
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    data, reset, still_open = b"", False, True
    try:
        while len(data) < READ_AT_MOST_BYTES and not _is_complete(data):
            piece = await asyncio.wait_for(reader.read(1 << 16), SILENCE_S)
            if not piece:
                still_open = False
                break
            data += piece
    except TimeoutError:
        pass
    except ConnectionResetError:
        reset, still_open = True, False
    writer.close()
    start, _, rest = data.partition(b"\r\n\r\n")
    return RawAnswer(start, rest, reset, still_open)


def _is_complete(data: bytes) -> bool:
    head, found, body = data.partition(b"\r\n\r\n")
    lines = [line.split(b":") for line in head.lower().split(b"\r\n")]
    length = next((int(line[1]) for line in lines if line[0] == b"content-length"), None)
    return bool(found) and (body.endswith(b"0\r\n\r\n") if length is None else len(body) >= length)


Check: TypeAlias = Callable[[RawAnswer], object]

ARGUMENTS = '{"order_number": "1042"}'
PART_OF_TEXT = "Let me have"

CHECKS: dict[str, Check] = {
    "C048": lambda a: a.arguments == ARGUMENTS and not any("index" in call for call in a.calls),
    "C051": lambda a: a.arguments == ARGUMENTS and not any("id" in call for call in a.calls),
    "C052": lambda a: (
        a.arguments == ARGUMENTS
        and len(a.calls) == 3
        and {(call["id"], call["type"], call["function"]["name"]) for call in a.calls}
        == {("call_1", "function", "lookup_order")}
    ),
    "C053": lambda a: a.arguments == ARGUMENTS[:-1],
    "C053-doubled": lambda a: a.arguments == ARGUMENTS * 2,
    "C053-empty": lambda a: a.calls and a.arguments == "",
    "two-calls": lambda a: {call["index"] for call in a.calls} == {0, 1} and a.text,
    "same-index": lambda a: (
        [(call["index"], call["id"]) for call in a.calls] == [(0, "call_1"), (0, "call_2")]
    ),
    "call-finish-stop": lambda a: a.calls and a.finish == ["stop"],
    "C054": lambda a: (
        len(a.usage) == 1 and a.usage[0]["prompt_tokens"] == 120 and a.chunks[-1]["choices"] == []
    ),
    "C055": lambda a: a.usage == [] and a.text,
    "C055-null": lambda a: a.usage == [None] * len(a.chunks),
    "C057": lambda a: a.usage[0]["prompt_tokens_details"] == {"cached_tokens": 80},
    "C057-no-details": lambda a: "prompt_tokens_details" not in a.usage[0],
    "C057-beyond": lambda a: a.usage[0]["prompt_tokens_details"]["cached_tokens"] > 120,
    "usage-odd": lambda a: (
        a.usage == [{"prompt_tokens": "120", "completion_tokens": -3, "total_tokens": None}]
    ),
    "usage-each": lambda a: [usage["completion_tokens"] for usage in a.usage] == [1, 2, 3, 4],
    "C059": lambda a: any("reasoning" in change for change in a.deltas) and a.text,
    "C059-content": lambda a: any("reasoning_content" in change for change in a.deltas) and a.text,
    "C059-both": lambda a: (
        [change["reasoning"] == change["reasoning_content"] for change in a.deltas if "reasoning" in change]
        == [True, True]
    ),
    "C061": lambda a: (
        [part["type"] for change in a.deltas for part in change.get("content") or ()]
        == ["thinking", "text", "hologram", "text"]
    ),
    "C061-nested": lambda a: isinstance(a.deltas[0]["content"][0]["thinking"], list),
    "C062": lambda a: any("refusal" in change for change in a.deltas) and not a.text,
    "filtered": lambda a: a.finish == ["content_filter"],
    "C064": lambda a: a.finish == ["length"] and a.text,
    "C010": lambda a: a.finish == ["length"] and not a.text and "reasoning_content" in a.deltas[1],
    "empty": lambda a: a.text == "" and a.finish == ["stop"],
    "blank": lambda a: a.text and "\u200b" in a.text and not any(c.isalnum() for c in a.text),
    "C082": lambda a: a.deltas.count(None) == 2 and {"content": None} in a.deltas and a.text,
    "C083": lambda a: a.chunks[0]["choices"] == [] and "prompt_filter_results" in a.chunks[0],
    "message-in-chunk": lambda a: "message" in a.chunks[0]["choices"][0],
    "unknown-finish": lambda a: a.finish == ["eos"],
    "nul": lambda a: a.text.count("\0") == 2,
    "think-tags": lambda a: a.text.startswith("<think>"),
    "C070": lambda a: a.finish == ["stop"] and not a.done and a.is_whole,
    "C071": lambda a: a.finish == [] and a.done,
    "C073": lambda a: a.stream.startswith(b": keep-alive\n\ndata: ") and a.stream.count(b": keep-alive") > 3,
    "C075": lambda a: a.still_open and not a.is_whole,
    "C076": lambda a: b"data:{" in a.stream and b"data: " not in a.stream and b"\r\n\r\n" in a.stream,
    "C076-crlf": lambda a: a.stream.count(b"\n") == a.stream.count(b"\r\n") == a.stream.count(b"\r"),
    "C076-cr": lambda a: b"\r\r" in a.stream and b"\n" not in a.stream,
    "C076-nospace": lambda a: b"data:{" in a.stream and b"data: " not in a.stream,
    "C077": lambda a: a.body.startswith(b"1\r\nd\r\n1\r\na\r\n") and "🧡" in a.text,
    "C077-crlf": lambda a: b"1\r\n\r\r\n1\r\n\n\r\n" in a.body and "🧡" in a.text,
    "C078": lambda a: "One\u2028two\u2029three\u0085four.".encode() in a.stream,
    "bom": lambda a: a.stream.startswith(b"\xef\xbb\xbfdata: "),
    "data-lines": lambda a: b',\ndata: "choices"' in a.stream,
    "last-unclosed": lambda a: a.is_whole and not a.stream.endswith(b"\n"),
    "after-done": lambda a: a.stream.index(b"[DONE]") < a.stream.index(b"Not this"),
    "C087": lambda a: b'data: {"id":"chatcmpl-raw","choices":[{"delta"\n\n' in a.stream,
    "C087-utf8": lambda a: b"\xff\xfe" in a.stream,
    "C087-shape": lambda a: b"data: [1, 2, 3]\n\n" in a.stream,
    "surrogates-cut": lambda a: b'\\ud83d"' in a.stream and b'"\\ude00' in a.stream,
    "surrogate-lone": lambda a: b"\\ud83d!" in a.stream,
    "not-finite": lambda a: b"NaN" in a.stream and b"Infinity" in a.stream,
    "C065": lambda a: a.stream.index(b'" have"') < a.stream.index(b'data: {"error":{"message":'),
    "C065-event": lambda a: b'event: error\ndata: {"message":' in a.stream,
    "C065-first": lambda a: a.stream.count(b"data: ") == 2 and b'data: {"error":{' in a.stream,
    "C065-rate": lambda a: b'"code":"rate_limit_exceeded"' in a.stream,
    "C067": lambda a: a.status == 200 and b"text/html" in a.head and a.body.startswith(b"<!doctype html>"),
    "html-502": lambda a: a.status == 502 and b"text/html" in a.head,
    "json-200": lambda a: a.status == 200 and b"application/json" in a.head and b'"error"' in a.stream,
    "C086": lambda a: a.status == 500 and b'"error"' in a.body,
    "cut": lambda a: a.text == PART_OF_TEXT and not a.is_whole and not a.still_open and not a.reset,
    "cut-reset": lambda a: a.reset,
    "cut-clean": lambda a: a.text == PART_OF_TEXT and a.is_whole and not a.finish and not a.done,
    "cut-head": lambda a: len(a.chunks) == 1 and not a.is_whole and not a.still_open,
    "cut-first": lambda a: (a.head, a.reset, a.still_open) == (b"", False, False),
    "reset-first": lambda a: (a.head, a.reset) == (b"", True),
    "no-body": lambda a: a.status == 200 and a.stream == b"" and a.is_whole,
    "hang": lambda a: (a.head, a.still_open) == (b"", True),
    "hang-head": lambda a: a.status == 200 and a.body == b"" and a.still_open,
    "stall": lambda a: a.text == PART_OF_TEXT and a.still_open and not a.is_whole,
    "stall-comments": lambda a: a.text == PART_OF_TEXT and b": keep-alive\n\n" in a.stream and a.still_open,
    "flood": lambda a: len(a.body) > READ_AT_MOST_BYTES // 2 and a.body.count(b"data: ") > 50,
    "flood-frame": lambda a: len(a.body) > READ_AT_MOST_BYTES // 2 and a.body.count(b"\n\n") == 0,
    "not-http": lambda a: a.head.startswith(b"220 ") and not a.still_open,
    "bad-chunk": lambda a: a.body.startswith(b"zz\r\n"),
    "redirect": lambda a: a.status == 307 and b"location: http://127.0.0.2:9/" in a.head,
    "status-429": lambda a: a.status == 429 and b"retry-after: 1\r\n" in a.head + b"\r\n",
    "quota": lambda a: a.status == 429 and b"insufficient_quota" in a.body,
    "no-schema": lambda a: a.status == 400 and b"json_schema" in a.body,
    "status-html": lambda a: a.status == 500 and len(a.body) > 100_000,
}


@pytest.mark.parametrize("name", CHECKS)
async def test_fault_is_on_the_wire(server: DemoServer, name: str) -> None:
    assert CHECKS[name](await ask(server, f"fault/{name}"))


@pytest.mark.parametrize("name", [name for name in STATUS_FAULTS if name.startswith(("status-", "retry-"))])
async def test_status_fault_has_its_status_and_headers(server: DemoServer, name: str) -> None:
    behaviour = STATUS_FAULTS[name].behaviour
    answer = await ask(server, f"fault/{name}")
    assert behaviour.kind == "status"
    assert answer.status == behaviour.status
    for header, value in behaviour.headers.items():
        assert f"{header}: {value}".encode() in answer.head


def test_no_fault_is_left_out() -> None:
    assert set(FAULTS) == set(CHECKS) | set(STATUS_FAULTS)


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("C062", lambda a: b'"refusal":"I am sorry' in a.body),
        ("C064", lambda a: b'"finish_reason":"length"' in a.body),
        ("C065", lambda a: a.status == 200 and a.body.startswith(b'{"error":')),
        ("C082", lambda a: b'"content":"All is well."' in a.body),
        ("cut", lambda a: not a.still_open and not a.body.endswith(b"}")),
        ("hang", lambda a: a.head == b"" and a.still_open),
    ],
)
async def test_fault_without_streaming(server: DemoServer, name: str, check: Check) -> None:
    assert check(await ask(server, f"fault/{name}", stream=False))


async def test_counted_fault_is_followed_by_good_answers(server: DemoServer) -> None:
    answers = [await ask(server, "fault/status-503/2") for _ in range(3)]
    assert [answer.status for answer in answers] == [503, 503, 200]
    assert answers[2].done
