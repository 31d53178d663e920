"""Chat-completions chunks as event-stream frames, and the same answer as one JSON body."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import orjson

from parley.server.llm.demo.behaviours import Framing

CREATED = 1_700_000_000
"""The `created` of every answer, epoch seconds: fixed, so that the same request gives the same bytes."""

_OPEN = b'"choices":[{"index":0,"delta":{"content":'
_CLOSE = b'},"logprobs":null,"finish_reason":null}]'
_WORD = re.compile(r"\s*\S+(?:\s+\Z)?")


@dataclass(frozen=True, slots=True)
class Identity:
    """What every chunk of one answer repeats."""

    id: str
    llm: str
    null_usage: bool = False

    def fields(self, kind: str) -> dict[str, Any]:
        """The repeated fields, with `kind` as the object's type."""
        return {"id": self.id, "object": kind, "created": CREATED, "model": self.llm}


def split(text: str, chunks: int | Sequence[str] | None) -> Sequence[str]:
    """Cut `text` into pieces: per word (None), a number of them, or the pieces given."""
    if chunks is None:
        return _WORD.findall(text) or ([text] if text else [])
    if not isinstance(chunks, int):
        return chunks
    words = _WORD.findall(text)
    units: Sequence[str] = words if len(words) >= chunks else text
    count = min(max(1, chunks), len(units))
    bounds = [len(units) * step // count for step in range(count + 1)] if count else []
    return ["".join(units[a:b]) for a, b in pairwise(bounds)]


def frame(data: bytes) -> bytes:
    """One event-stream message."""
    return b"data: " + data + b"\n\n"


DONE = frame(b"[DONE]")


def chunk(identity: Identity, fields: dict[str, Any]) -> bytes:
    """One chunk; `fields` win over the repeated ones."""
    usage = {"usage": None} if identity.null_usage else {}
    return frame(orjson.dumps({**identity.fields("chat.completion.chunk"), **usage, **fields}))


def delta(identity: Identity, change: dict[str, Any] | None, finish: str | None = None) -> bytes:
    """One chunk with one choice."""
    choice = {"index": 0, "delta": change, "logprobs": None, "finish_reason": finish}
    return chunk(identity, {"choices": [choice]})


def contents(identity: Identity, pieces: Iterable[str]) -> list[bytes]:
    """One chunk per piece of text. Most of what the server ever sends, so made from two templates."""
    head = orjson.dumps(identity.fields("chat.completion.chunk"))[:-1]
    opening = b"data: " + head + b"," + _OPEN
    closing = _CLOSE + (b',"usage":null' if identity.null_usage else b"") + b"}\n\n"
    return [b"%b%b%b" % (opening, orjson.dumps(piece), closing) for piece in pieces]


def laid_out(frames: list[bytes], framing: Framing) -> list[bytes]:
    """The frames in the wire form that `framing` asks for."""
    if framing == Framing():
        return frames
    if framing.comments:
        frames = [b": keep-alive\n\n" + one for one in frames]
    if not framing.space:
        frames = [re.sub(rb"^data: ", b"data:", one, flags=re.MULTILINE) for one in frames]
    if framing.newline != "\n":
        frames = [one.replace(b"\n", framing.newline.encode()) for one in frames]
    if framing.bom and frames:
        frames = [b"\xef\xbb\xbf" + frames[0], *frames[1:]]
    return sliced(b"".join(frames), framing.write_bytes) if framing.write_bytes else frames


def sliced(data: bytes, size: int) -> list[bytes]:
    """`data` in pieces of `size` bytes."""
    return [data[start : start + size] for start in range(0, len(data), size)]
