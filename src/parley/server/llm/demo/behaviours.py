"""What a scripted llm can do with one request. All of it is data: it travels as JSON and back.

A behaviour fits streamed and unstreamed requests alike; what differs is said at its class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Base64Bytes, Field

UsageReport: TypeAlias = dict[str, Any] | Literal["counted", "absent", "null"]
"""The wire's usage object as given; or `counted` from the texts, `absent` even if it was asked for,
or `null` on every chunk and nothing at the end."""

WireEnding: TypeAlias = Literal["finish", "cut", "reset", "hang"]
"""How the connection is left: properly, closed early, reset (RST), or open and silent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Framing:
    """How event-stream frames are laid onto the wire."""

    newline: Literal["\n", "\r\n", "\r"] = "\n"
    space: bool = True
    """Whether a space follows `data:`."""
    comments: bool = False
    """Whether a keep-alive comment stands before every frame."""
    bom: bool = False
    """Whether the stream begins with a UTF-8 byte order mark."""
    write_bytes: int | None = None
    """Write this many bytes at a time, wherever that cuts; None writes frame by frame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """What all spoken answers have in common. None takes the value of the namespace's pace."""

    latency_ms: float | None = None
    gap_ms: float | None = None
    usage: UsageReport = "counted"
    finish: str | None = "stop"
    done: bool = True
    """Whether `[DONE]` closes the stream."""
    framing: Framing = Framing()


@dataclass(frozen=True, slots=True)
class Say(Manner):
    """Words. `chunks` is their number, the very pieces, or None for one per word."""

    text: str
    chunks: int | tuple[str, ...] | None = field(default=None, kw_only=True)
    reasoning: str = field(default="", kw_only=True)
    reasoning_field: Literal["reasoning_content", "reasoning"] = field(
        default="reasoning_content", kw_only=True
    )
    kind: Literal["say"] = field(default="say", kw_only=True)


@dataclass(frozen=True, slots=True)
class Refuse(Manner):
    """A refusal in the field `refusal`, without content."""

    text: str
    kind: Literal["refuse"] = field(default="refuse", kw_only=True)


@dataclass(frozen=True, slots=True)
class Call:
    """One further tool call beside the first."""

    name: str
    arguments: str = "{}"
    id: str = "call_2"


@dataclass(frozen=True, slots=True)
class CallTool(Manner):
    """A tool call, `text` said before it; `arguments` is sent as it is, be it JSON or not."""

    name: str
    arguments: str = "{}"
    id: str = field(default="call_1", kw_only=True)
    text: str = field(default="", kw_only=True)
    also: tuple[Call, ...] = field(default=(), kw_only=True)
    finish: str | None = field(default="tool_calls", kw_only=True)
    kind: Literal["call_tool"] = field(default="call_tool", kw_only=True)


@dataclass(frozen=True, slots=True)
class Chunks(Manner):
    """Chunks in any shape; id, object, created and llm name are added where they are missing.

    `finish` None sends no finishing chunk of our own. Unstreamed: the string contents, joined.
    """

    chunks: tuple[dict[str, Any], ...]
    kind: Literal["chunks"] = field(default="chunks", kw_only=True)


@dataclass(frozen=True, slots=True)
class Raw:
    """The very bytes of the answer's body, or with `bare` of the whole HTTP answer."""

    data: Base64Bytes
    content_type: str = field(default="text/event-stream", kw_only=True)
    bare: bool = field(default=False, kw_only=True)
    write_bytes: int | None = field(default=None, kw_only=True)
    gap_ms: float = field(default=0.0, kw_only=True)
    ending: WireEnding = field(default="finish", kw_only=True)
    kind: Literal["raw"] = field(default="raw", kw_only=True)


@dataclass(frozen=True, slots=True)
class Status:
    """An HTTP status. `body` None gives an error object in the shape of the OpenAI API."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    content_type: str = field(default="application/json", kw_only=True)
    kind: Literal["status"] = field(default="status", kw_only=True)


@dataclass(frozen=True, slots=True)
class Hang:
    """Silence: before any byte (`after` None), or after so many content chunks of `text`.

    With `comment_every_ms` the silence is filled with keep-alive comments. Unstreamed: no byte at all.
    """

    after: int | None = None
    text: str = "Let me have a look at that for you."
    comment_every_ms: float | None = field(default=None, kw_only=True)
    kind: Literal["hang"] = field(default="hang", kw_only=True)


@dataclass(frozen=True, slots=True)
class Cut:
    """The answer stops after `after` content chunks, with neither finish reason nor `[DONE]`.

    `ending` `cut` closes in the middle of the chunked body (unstreamed: of the announced length),
    `reset` sends RST, `finish` ends the HTTP body properly. None for `after`: no byte at all.
    """

    after: int | None = 3
    text: str = "Let me have a look at that for you."
    ending: WireEnding = field(default="cut", kw_only=True)
    kind: Literal["cut"] = field(default="cut", kw_only=True)


@dataclass(frozen=True, slots=True)
class Html:
    """A web page where an API should be."""

    status: int = 200
    title: str = "Sign in"
    kind: Literal["html"] = field(default="html", kw_only=True)


@dataclass(frozen=True, slots=True)
class ErrorFrame:
    """An error object inside a stream of status 200, after `after` content chunks of `text`.

    With `named` it is a frame `event: error` whose data is the bare error. Unstreamed: the error
    object with status 200.
    """

    message: str = "The server had an error while processing your request."
    code: str | None = "server_error"
    after: int = 3
    text: str = "Let me have a look at that for you."
    named: bool = field(default=False, kw_only=True)
    kind: Literal["error_frame"] = field(default="error_frame", kw_only=True)


@dataclass(frozen=True, slots=True)
class Flood:
    """Words without end, up to `total_bytes` of content, as fast as they are read; never finished."""

    total_bytes: int = 1 << 30
    piece_bytes: int = 1 << 14
    one_frame: bool = field(default=False, kw_only=True)
    """Whether all of it is one single line."""
    kind: Literal["flood"] = field(default="flood", kw_only=True)


Behaviour: TypeAlias = (
    Say | Refuse | CallTool | Chunks | Raw | Status | Hang | Cut | Html | ErrorFrame | Flood
)
TaggedBehaviour: TypeAlias = Annotated[Behaviour, Field(discriminator="kind")]
