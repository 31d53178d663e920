"""Every odd way an OpenAI-compatible endpoint is known to answer, to be had for the asking.

Ask by the llm's name (`fault/C065`), by the header `x-demo-fault: C065`, or by the request's metadata
`{"demo_fault": "C065"}`. `C065/2` gives the fault twice and answers well from then on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from parley.server.llm.demo.behaviours import (
    Behaviour,
    Call,
    CallTool,
    Chunks,
    Cut,
    ErrorFrame,
    Flood,
    Framing,
    Hang,
    Html,
    Raw,
    Refuse,
    Say,
    Status,
)
from parley.server.llm.demo.request import ChatRequest

HEADER = "x-demo-fault"
METADATA_KEY = "demo_fault"
_NAME = re.compile(r"\A(?P<id>[\w-]+)(?:/(?P<times>\d+))?\Z")

_ANSWER = "Thank you for waiting. Your parcel left our warehouse this morning."
_ARGUMENTS = '{"order_number": "1042"}'
_USAGE = {"prompt_tokens": 120, "completion_tokens": 14, "total_tokens": 134}


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to answer, and the sentence that explains it."""

    sentence: str
    behaviour: Behaviour

    @property
    def calls_tools(self) -> bool:
        """Whether the answer holds a tool call; it is then given only before a tool's result."""
        return isinstance(self.behaviour, CallTool) or (
            isinstance(self.behaviour, Chunks) and "tool_calls" in str(self.behaviour.chunks)
        )


@dataclass(frozen=True, slots=True)
class AskedFault:
    """A fault that a request asks for, at most `times` times (None: always)."""

    id: str
    times: int | None
    key: str

    def applies(self, request: ChatRequest, given: int) -> bool:
        """Whether this request gets it, after `given` earlier ones did."""
        if self.times is not None and given >= self.times:
            return False
        return not (FAULTS[self.id].calls_tools and request.answers_tool)


def asked_fault(request: ChatRequest) -> AskedFault | None:
    """The known fault that `request` asks for."""
    metadata = request.fields.get("metadata")
    asked = (
        request.llm.removeprefix("fault/")
        if request.llm.startswith("fault/")
        else request.headers.get(HEADER)
        or (metadata.get(METADATA_KEY) if isinstance(metadata, dict) else None)
    )
    found = _NAME.match(asked) if isinstance(asked, str) else None
    if found is None or found["id"] not in FAULTS:
        return None
    times = found["times"]
    return AskedFault(found["id"], None if times is None else int(times), f"{request.llm} {found[0]}")


def _delta(change: dict[str, Any] | None, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": change, "finish_reason": finish}]}


def _words(*pieces: str) -> tuple[dict[str, Any], ...]:
    return tuple(_delta({"content": piece}) for piece in pieces)


def _tool(*pieces: dict[str, Any]) -> Chunks:
    opening = _delta({"role": "assistant", "content": None})
    return Chunks((opening, *(_delta({"tool_calls": [piece]}) for piece in pieces)), finish="tool_calls")


def _function(arguments: str, name: str | None = None) -> dict[str, str]:
    return {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}


def _named(arguments: str = "") -> dict[str, Any]:
    return {"type": "function", "function": _function(arguments, "lookup_order")}


def _raw_stream(*frames: bytes) -> Raw:
    return Raw(b"".join(b"data: " + one + b"\n\n" for one in frames))


def _raw_words(text: bytes) -> bytes:
    return (
        b'{"id":"chatcmpl-raw","object":"chat.completion.chunk","created":1700000000,"model":"raw",'
        b'"choices":[{"index":0,"delta":{"content":"' + text + b'"},"finish_reason":null}]}'
    )


_RAW_END = (
    b'{"id":"chatcmpl-raw","object":"chat.completion.chunk","created":1700000000,"model":"raw",'
    b'"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'
)

TOOL_FAULTS = {
    "C048": Fault(
        "The pieces of the one tool call come without an index.",
        _tool(
            {"id": "call_1", **_named()},
            *({"function": _function(p)} for p in (_ARGUMENTS[:9], _ARGUMENTS[9:])),
        ),
    ),
    "C051": Fault(
        "The first piece of a tool call has an index but no id.",
        _tool({"index": 0, **_named()}, {"index": 0, "function": _function(_ARGUMENTS)}),
    ),
    "C052": Fault(
        "Id, type and name are repeated on every piece of a tool call.",
        _tool(*({"index": 0, "id": "call_1", **_named(p)} for p in ("", _ARGUMENTS[:9], _ARGUMENTS[9:]))),
    ),
    "C053": Fault("A tool call's arguments are not valid JSON.", CallTool("lookup_order", _ARGUMENTS[:-1])),
    "C053-doubled": Fault(
        "A tool call's arguments arrive twice, one after the other.",
        CallTool("lookup_order", _ARGUMENTS * 2),
    ),
    "C053-empty": Fault("A tool call's arguments are empty.", CallTool("lookup_order", "")),
    "two-calls": Fault(
        "Two tool calls in one answer, with words before them.",
        CallTool(
            "lookup_order",
            _ARGUMENTS,
            text="I will check both orders.",
            also=(Call("lookup_order", '{"order_number": "1043"}'),),
        ),
    ),
    "same-index": Fault(
        "Two whole tool calls share index 0 and differ by id.",
        _tool(
            {"index": 0, "id": "call_1", **_named(_ARGUMENTS)},
            {"index": 0, "id": "call_2", **_named(_ARGUMENTS)},
        ),
    ),
    "call-finish-stop": Fault(
        "A tool call is finished with the reason stop.",
        CallTool("lookup_order", _ARGUMENTS, finish="stop"),
    ),
}

CONTENT_FAULTS = {
    "C054": Fault(
        "Usage comes only in a last chunk whose choices are empty, asked for or not.",
        Chunks(
            (*_words("Your parcel ", "is here."), _delta({}, "stop"), {"choices": [], "usage": _USAGE}),
            finish=None,
            usage="absent",
        ),
    ),
    "C055": Fault("No usage, even if it was asked for.", Say(_ANSWER, usage="absent")),
    "C055-null": Fault("Usage is null on every chunk and nothing follows.", Say(_ANSWER, usage="null")),
    "C057": Fault(
        "80 of 120 prompt tokens are reported as cached.",
        Say(_ANSWER, usage={**_USAGE, "prompt_tokens_details": {"cached_tokens": 80}}),
    ),
    "C057-no-details": Fault("Usage without any details on cached tokens.", Say(_ANSWER, usage=_USAGE)),
    "C057-beyond": Fault(
        "More cached tokens are reported than prompt tokens.",
        Say(_ANSWER, usage={**_USAGE, "prompt_tokens_details": {"cached_tokens": 500}}),
    ),
    "usage-odd": Fault(
        "Usage numbers are strings, negative or null.",
        Say(_ANSWER, usage={"prompt_tokens": "120", "completion_tokens": -3, "total_tokens": None}),
    ),
    "usage-each": Fault(
        "Every chunk carries the usage so far; only the last one counts.",
        Chunks(
            tuple(
                {**_delta({"content": word}), "usage": {**_USAGE, "completion_tokens": count}}
                for count, word in enumerate(("Your ", "parcel ", "is ", "here."), start=1)
            ),
            usage="absent",
        ),
    ),
    "C059": Fault(
        "Reasoning arrives in the field reasoning.",
        Say(_ANSWER, reasoning="The order has been sent, so say so.", reasoning_field="reasoning"),
    ),
    "C059-content": Fault(
        "Reasoning arrives in the field reasoning_content.",
        Say(_ANSWER, reasoning="The order has been sent, so say so."),
    ),
    "C059-both": Fault(
        "Every thought arrives in both reasoning fields at once.",
        Chunks(
            (
                _delta({"reasoning": "The order ", "reasoning_content": "The order "}),
                _delta({"reasoning": "was sent.", "reasoning_content": "was sent."}),
                *_words("It is on its way."),
            )
        ),
    ),
    "C061": Fault(
        "Content is a list of parts: thinking, text, and one nobody knows.",
        Chunks(
            (
                _delta({"role": "assistant", "content": [{"type": "thinking", "thinking": "It was sent. "}]}),
                _delta({"content": [{"type": "text", "text": "Your parcel "}, {"type": "hologram", "x": 1}]}),
                _delta({"content": [{"type": "text", "text": "is on its way."}]}),
            )
        ),
    ),
    "C061-nested": Fault(
        "A thinking part holds a list of text parts.",
        Chunks(
            (
                _delta({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Sent."}]}]}),
                *_words("It is on its way."),
            )
        ),
    ),
    "C062": Fault("A refusal in the field refusal.", Refuse("I am sorry, I cannot help with that request.")),
    "filtered": Fault("The answer is stopped by a content filter.", Say("I", finish="content_filter")),
    "C064": Fault("The answer is cut by the finish reason length.", Say(_ANSWER[:40], finish="length")),
    "C010": Fault(
        "Reasoning ate the whole token budget: no content, finish reason length.",
        Say("", reasoning="First I should think about what they might want, and then", finish="length"),
    ),
    "empty": Fault("A proper answer without a single word.", Say("")),
    "blank": Fault("An answer of white space and invisible characters.", Say(" \n\u200b\u2060\t ", chunks=1)),
    "C082": Fault(
        "Deltas that are null, role only, or have null content.",
        Chunks(
            (
                _delta({"role": "assistant"}),
                _delta(None),
                _delta({"content": None}),
                *_words("All is ", "well."),
                _delta(None),
            )
        ),
    ),
    "C083": Fault(
        "The first chunk has no choices, only prompt filter data.",
        Chunks(
            ({"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}, *_words("All is ", "well."))
        ),
    ),
    "message-in-chunk": Fault(
        "One single chunk carries a whole message in place of a delta.",
        Chunks(
            ({"choices": [{"index": 0, "message": {"role": "assistant", "content": _ANSWER}}]},),
        ),
    ),
    "unknown-finish": Fault("A finish reason nobody knows.", Say(_ANSWER, finish="eos")),
    "nul": Fault("NUL characters in the text.", Say("Your parcel\x00 is\x00 here.", chunks=3)),
    "think-tags": Fault(
        "Thoughts stand in think tags inside the content.",
        Say("<think>It was sent, say so.</think>Your parcel is on its way."),
    ),
}

FRAMING_FAULTS = {
    "C070": Fault("Finish reason stop, but no [DONE].", Say(_ANSWER, done=False)),
    "C071": Fault("[DONE] without any finish reason.", Say(_ANSWER, finish=None)),
    "C073": Fault(
        "Keep-alive comments before and between the data.", Say(_ANSWER, framing=Framing(comments=True))
    ),
    "C075": Fault(
        "A healthy answer of 180 words, one a second.",
        Say(" ".join(["still"] * 179) + " here.", gap_ms=1000),
    ),
    "C076": Fault(
        "No space after data: and CRLF line ends.", Say(_ANSWER, framing=Framing(newline="\r\n", space=False))
    ),
    "C076-crlf": Fault("CRLF line ends.", Say(_ANSWER, framing=Framing(newline="\r\n"))),
    "C076-cr": Fault("Lone CR line ends.", Say(_ANSWER, framing=Framing(newline="\r"))),
    "C076-nospace": Fault("No space after data:.", Say(_ANSWER, framing=Framing(space=False))),
    "C077": Fault(
        "Multi-byte characters, written one byte at a time.",
        Say("Grüße aus Köln, 日本 und 🧡.", gap_ms=0.5, framing=Framing(write_bytes=1)),
    ),
    "C077-crlf": Fault(
        "CRLF line ends, written one byte at a time.",
        Say("Grüße 🧡.", gap_ms=0.5, framing=Framing(newline="\r\n", write_bytes=1)),
    ),
    "C078": Fault(
        "U+2028, U+2029 and U+0085 raw inside the JSON text.",
        Say("One\u2028two\u2029three\u0085four.", chunks=1),
    ),
    "bom": Fault("The stream begins with a byte order mark.", Say(_ANSWER, framing=Framing(bom=True))),
    "data-lines": Fault(
        "One JSON chunk is spread over two data lines of one frame.",
        _raw_stream(
            _raw_words(b"All is well.").replace(b',"choices"', b',\ndata: "choices"'), _RAW_END, b"[DONE]"
        ),
    ),
    "last-unclosed": Fault(
        "The last frame is not closed by an empty line.",
        Raw(b"data: " + _raw_words(b"All is well.") + b"\n\ndata: " + _RAW_END),
    ),
    "after-done": Fault(
        "Text goes on after [DONE].",
        _raw_stream(_raw_words(b"All is well."), _RAW_END, b"[DONE]", _raw_words(b" Not this.")),
    ),
    "C087": Fault(
        "A frame in the middle holds broken JSON.",
        _raw_stream(
            _raw_words(b"Your parcel "), b'{"id":"chatcmpl-raw","choices":[{"delta"', _RAW_END, b"[DONE]"
        ),
    ),
    "C087-utf8": Fault(
        "A frame in the middle holds invalid UTF-8.",
        _raw_stream(_raw_words(b"Your \xff\xfe parcel."), _RAW_END, b"[DONE]"),
    ),
    "C087-shape": Fault(
        "A frame holds JSON of another shape: a list.",
        _raw_stream(_raw_words(b"Your parcel "), b"[1, 2, 3]", _RAW_END, b"[DONE]"),
    ),
    "surrogates-cut": Fault(
        "One emoji, its two surrogate halves escaped in two chunks.",
        _raw_stream(_raw_words(b"Fine \\ud83d"), _raw_words(b"\\ude00!"), _RAW_END, b"[DONE]"),
    ),
    "surrogate-lone": Fault(
        "An escaped surrogate half that never finds its other half.",
        _raw_stream(_raw_words(b"Fine \\ud83d!"), _RAW_END, b"[DONE]"),
    ),
    "not-finite": Fault(
        "Usage holds NaN and Infinity.",
        _raw_stream(
            _raw_words(b"All is well."),
            _RAW_END,
            b'{"choices":[],"usage":{"prompt_tokens":NaN,"completion_tokens":Infinity}}',
            b"[DONE]",
        ),
    ),
}

BROKEN_FAULTS = {
    "C065": Fault("An error object in a data line, after some text.", ErrorFrame()),
    "C065-event": Fault(
        "A frame `event: error` with the bare error, after some text.", ErrorFrame(named=True)
    ),
    "C065-first": Fault("An error object as the very first frame.", ErrorFrame(after=0)),
    "C065-rate": Fault(
        "An error object inside the stream tells of a rate limit.",
        ErrorFrame("Rate limit reached, try again in 2 s.", "rate_limit_exceeded"),
    ),
    "C067": Fault("Status 200 with an HTML page.", Html()),
    "html-502": Fault("Status 502 with a proxy's HTML page.", Html(502, "Bad gateway")),
    "json-200": Fault(
        "Status 200 with a JSON error where a stream was asked for.",
        Raw(
            b'{"error": {"message": "No such deployment.", "type": "not_found", "code": null}}',
            content_type="application/json",
        ),
    ),
    "C086": Fault("Status 500, every time: count the requests in /control/stats.", Status(500)),
    "cut": Fault("The connection is closed in mid-stream.", Cut()),
    "cut-reset": Fault("The connection is reset in mid-stream.", Cut(ending="reset")),
    "cut-clean": Fault(
        "The stream ends properly, with neither finish reason nor [DONE].", Cut(ending="finish")
    ),
    "cut-head": Fault("Headers, one empty chunk, and the connection is closed.", Cut(0)),
    "cut-first": Fault("The connection is closed without a byte.", Cut(None)),
    "reset-first": Fault("The connection is reset without a byte.", Cut(None, ending="reset")),
    "no-body": Fault("Status 200, an event stream without a byte.", Raw(b"")),
    "hang": Fault("Not a byte, ever.", Hang()),
    "hang-head": Fault("Headers, then silence.", Hang(0)),
    "stall": Fault("Some text, then silence.", Hang(3)),
    "stall-comments": Fault("Some text, then keep-alive comments for ever.", Hang(3, comment_every_ms=200)),
    "flood": Fault("Words without end.", Flood()),
    "flood-frame": Fault("One line without end.", Flood(one_frame=True)),
    "not-http": Fault("Bytes that are not HTTP.", Raw(b"220 mail.example.com ESMTP\r\n", bare=True)),
    "bad-chunk": Fault(
        "A chunked body with a broken chunk size.",
        Raw(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
            b"transfer-encoding: chunked\r\n\r\nzz\r\ndata\r\n",
            bare=True,
        ),
    ),
    "redirect": Fault(
        "A redirect to another address.",
        Status(307, {"location": "http://127.0.0.2:9/v1/chat/completions"}, ""),
    ),
}


def _error_body(message: str, code: str) -> str:
    return f'{{"error": {{"message": "{message}", "type": "{code}", "param": null, "code": "{code}"}}}}'


_SLOW_DOWN = _error_body("Rate limit reached for requests.", "rate_limit_exceeded")
STATUS_FAULTS = {
    **{
        f"status-{status}": Fault(f"Status {status} with an error object.", Status(status))
        for status in (400, 401, 403, 404, 408, 409, 413, 422, 500, 502, 503, 504, 529)
    },
    "status-429": Fault("Status 429, Retry-After: 1.", Status(429, {"retry-after": "1"}, _SLOW_DOWN)),
    **{
        f"retry-{name}": Fault(
            f"Status 429, Retry-After: {value}.", Status(429, {"retry-after": value}, _SLOW_DOWN)
        )
        for name, value in {
            "half": "0.5",
            "zero": "0",
            "hour": "3600",
            "negative": "-5",
            "inf": "inf",
            "words": "soon",
            "past": "Wed, 21 Oct 2015 07:28:00 GMT",
            "future": "Fri, 01 Jan 2100 00:00:00 GMT",
        }.items()
    },
    "quota": Fault(
        "Status 429 that no waiting mends: the account's quota is used up.",
        Status(429, {}, _error_body("You exceeded your current quota.", "insufficient_quota")),
    ),
    "no-schema": Fault(
        "Status 400: the endpoint does not know response_format json_schema.",
        Status(400, {}, _error_body("response_format type json_schema is not supported.", "unsupported")),
    ),
    "status-html": Fault(
        "Status 500 with 100,000 characters of HTML.",
        Status(500, {}, "<html>" + "<p>Internal error</p>" * 5_000, content_type="text/html"),
    ),
}

FAULTS: dict[str, Fault] = {
    **TOOL_FAULTS,
    **CONTENT_FAULTS,
    **FRAMING_FAULTS,
    **BROKEN_FAULTS,
    **STATUS_FAULTS,
}
"""Every fault by its id. Ids that begin with C are acceptance cases of this project."""
