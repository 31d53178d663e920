"""Turns a behaviour and a request into the answer that goes over the wire."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, TypeAlias

import orjson

from parley.server.llm.demo.behaviours import (
    Behaviour,
    Call,
    CallTool,
    Chunks,
    Cut,
    ErrorFrame,
    Flood,
    Hang,
    Html,
    Manner,
    Raw,
    Refuse,
    Say,
    Status,
    WireEnding,
)
from parley.server.llm.demo.frames import (
    DONE,
    Identity,
    chunk,
    contents,
    delta,
    frame,
    laid_out,
    sliced,
    split,
)
from parley.server.llm.demo.request import ChatRequest

BYTES_PER_TOKEN = 4
"""How counted usage turns bytes into tokens; a rule of thumb for English text."""


@dataclass(frozen=True, slots=True)
class Pause:
    """A wait between two writes, milliseconds."""

    ms: float


Step: TypeAlias = bytes | Pause


@dataclass(slots=True, kw_only=True)
class Answer:
    """What to write: a head made of `status` and headers, then the steps, then the ending.

    `length` announces a Content-Length; None means a chunked body. `bare` steps are the whole HTTP
    answer, head included. `silent` writes nothing at all before the ending.
    """

    status: int = 200
    content_type: str = "text/event-stream; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)
    steps: Iterable[Step] = ()
    length: int | None = None
    latency_ms: float = 0.0
    gap_ms: float = 0.0
    ending: WireEnding = "finish"
    bare: bool = False
    silent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast an llm speaks where its behaviour does not say: wait before, wait between chunks."""

    latency_ms: float = 0.0
    gap_ms: float = 0.0


def json_answer(fields: Any, status: int = 200) -> Answer:
    """A plain JSON answer."""
    return _whole(orjson.dumps(fields), "application/json", status)


def error_fields(message: str, code: str | None, kind: str = "invalid_request_error") -> dict[str, Any]:
    """An error in the shape of the OpenAI API."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def answer_for(behaviour: Behaviour, request: ChatRequest, pace: Pace, answer_id: str) -> Answer:
    """The answer to `request`, at the given pace where the behaviour sets none."""
    answer = _unpaced(behaviour, request, Identity(answer_id, request.llm))
    if isinstance(behaviour, Raw):
        return answer
    answer.latency_ms, answer.gap_ms = pace.latency_ms, pace.gap_ms
    if isinstance(behaviour, Manner):
        if behaviour.latency_ms is not None:
            answer.latency_ms = behaviour.latency_ms
        if behaviour.gap_ms is not None:
            answer.gap_ms = behaviour.gap_ms
    return answer


def _unpaced(behaviour: Behaviour, request: ChatRequest, identity: Identity) -> Answer:
    match behaviour:
        case Say() | Refuse() | CallTool() | Chunks():
            return _spoken(behaviour, request, identity)
        case Raw():
            return _raw(behaviour)
        case Status():
            return _status(behaviour)
        case Html():
            return _html(behaviour)
        case Hang():
            return _hang(behaviour, request, identity)
        case Cut():
            return _cut(behaviour, request, identity)
        case ErrorFrame():
            return _error_frame(behaviour, request, identity)
        case Flood():
            return Answer(steps=_flood(behaviour, identity), ending="hang")


def _whole(body: bytes, content_type: str, status: int = 200) -> Answer:
    return Answer(status=status, content_type=content_type, steps=(body,), length=len(body))


def _spoken(said: Say | Refuse | CallTool | Chunks, request: ChatRequest, identity: Identity) -> Answer:
    if not request.streamed:
        return json_answer(_completion(said, request, identity))
    if said.usage == "null":
        identity = Identity(identity.id, identity.llm, null_usage=True)
    frames = [*_opening(said, identity), *_middle(said, identity)]
    if said.finish is not None:
        frames.append(delta(identity, {}, said.finish))
    if request.wants_usage and said.usage not in ("absent", "null"):
        frames.append(chunk(identity, {"choices": [], "usage": _usage(said, request)}))
    if said.done:
        frames.append(DONE)
    return Answer(steps=laid_out(frames, said.framing))


def _opening(said: Manner, identity: Identity) -> list[bytes]:
    if isinstance(said, Chunks):
        return []
    return [delta(identity, {"role": "assistant", "content": None if isinstance(said, Refuse) else ""})]


def _middle(said: Say | Refuse | CallTool | Chunks, identity: Identity) -> list[bytes]:
    match said:
        case Say():
            thoughts = [
                delta(identity, {said.reasoning_field: piece}) for piece in split(said.reasoning, None)
            ]
            return [*thoughts, *contents(identity, split(said.text, said.chunks))]
        case Refuse():
            return [delta(identity, {"refusal": piece}) for piece in split(said.text, None)]
        case CallTool():
            frames = contents(identity, split(said.text, None))
            for index, call in enumerate(_calls(said)):
                frames += _call_frames(identity, index, call)
            return frames
        case Chunks():
            return [chunk(identity, fields) for fields in said.chunks]


def _calls(said: CallTool) -> tuple[Call, ...]:
    return (Call(said.name, said.arguments, said.id), *said.also)


def _call_frames(identity: Identity, index: int, call: Call) -> list[bytes]:
    opening = {"index": index, "id": call.id, "type": "function"}
    named = {**opening, "function": {"name": call.name, "arguments": ""}}
    pieces = [{"index": index, "function": {"arguments": piece}} for piece in split(call.arguments, 4)]
    return [delta(identity, {"tool_calls": [piece]}) for piece in (named, *pieces)]


def _completion(
    said: Say | Refuse | CallTool | Chunks, request: ChatRequest, identity: Identity
) -> dict[str, Any]:
    choice = {"index": 0, "message": _message(said), "logprobs": None, "finish_reason": said.finish or "stop"}
    body: dict[str, Any] = {**identity.fields("chat.completion"), "choices": [choice]}
    if said.usage == "null":
        body["usage"] = None
    elif said.usage != "absent":
        body["usage"] = _usage(said, request)
    return body


def _message(said: Say | Refuse | CallTool | Chunks) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": _words(said), "refusal": None}
    match said:
        case Say(reasoning=reasoning) if reasoning:
            message[said.reasoning_field] = reasoning
        case Refuse():
            message |= {"content": None, "refusal": said.text}
        case CallTool():
            message["content"] = said.text or None
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in _calls(said)
            ]
    return message


def _words(said: Say | Refuse | CallTool | Chunks) -> str:
    if isinstance(said, Say):
        return said.text if not isinstance(said.chunks, tuple) else "".join(said.chunks)
    if not isinstance(said, Chunks):
        return said.text
    deltas = [choice.get("delta") or {} for one in said.chunks for choice in one.get("choices", [])]
    return "".join(change["content"] for change in deltas if isinstance(change.get("content"), str))


def _usage(said: Say | Refuse | CallTool | Chunks, request: ChatRequest) -> dict[str, Any]:
    if isinstance(said.usage, dict):
        return said.usage
    prompt = max(1, request.body_bytes // BYTES_PER_TOKEN)
    thoughts = said.reasoning if isinstance(said, Say) else ""
    calls = "".join(call.name + call.arguments for call in _calls(said)) if isinstance(said, CallTool) else ""
    completion = max(1, len(_words(said) + thoughts + calls) // BYTES_PER_TOKEN)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": 0},
    }


def _raw(raw: Raw) -> Answer:
    return Answer(
        content_type=raw.content_type,
        steps=sliced(raw.data, raw.write_bytes) if raw.write_bytes else (raw.data,),
        gap_ms=raw.gap_ms,
        ending=raw.ending,
        bare=raw.bare,
    )


def _status(status: Status) -> Answer:
    body = status.body
    if body is None:
        message = f"The scripted llm answers with status {status.status}."
        kind = "server_error" if status.status >= 500 else "invalid_request_error"
        body = orjson.dumps(error_fields(message, None, kind)).decode()
    answer = _whole(body.encode(), status.content_type, status.status)
    answer.headers = dict(status.headers)
    return answer


def _html(page: Html) -> Answer:
    text = (
        f"<!doctype html><html><head><title>{page.title}</title></head>"
        f"<body><h1>{page.title}</h1><form><input name=email></form></body></html>"
    )
    return _whole(text.encode(), "text/html; charset=utf-8", page.status)


def _beginning(text: str, after: int, identity: Identity) -> list[bytes]:
    pieces = split(text, None)
    spoken = [pieces[place % len(pieces)] for place in range(after)] if pieces else []
    return [delta(identity, {"role": "assistant", "content": ""}), *contents(identity, spoken)]


def _hang(hang: Hang, request: ChatRequest, identity: Identity) -> Answer:
    if hang.after is None or not request.streamed:
        return Answer(ending="hang", silent=True)
    frames = _beginning(hang.text, hang.after, identity) if hang.after else []
    steps = frames if hang.comment_every_ms is None else _commented(frames, hang.comment_every_ms)
    return Answer(steps=steps, ending="hang")


def _commented(frames: list[bytes], every_ms: float) -> Iterator[Step]:
    yield from frames
    for pause in repeat(Pause(every_ms)):
        yield b": keep-alive\n\n"
        yield pause


def _cut(cut: Cut, request: ChatRequest, identity: Identity) -> Answer:
    if cut.after is None:
        return Answer(ending=cut.ending, silent=True)
    if request.streamed:
        return Answer(steps=_beginning(cut.text, cut.after, identity), ending=cut.ending)
    body = orjson.dumps(_completion(Say(cut.text), request, identity))
    answer = _whole(body, "application/json")
    answer.steps, answer.ending = (body[: len(body) // 2],), cut.ending
    if cut.ending == "finish":
        answer.length = len(body) // 2
    return answer


def _error_frame(error: ErrorFrame, request: ChatRequest, identity: Identity) -> Answer:
    fields = error_fields(error.message, error.code, "server_error")
    if not request.streamed:
        return json_answer(fields)
    last = (
        b"event: error\n" + frame(orjson.dumps(fields["error"]))
        if error.named
        else frame(orjson.dumps(fields))
    )
    return Answer(steps=[*_beginning(error.text, error.after, identity), last])


def _flood(flood: Flood, identity: Identity) -> Iterator[Step]:
    words = ("all work and no play " * (flood.piece_bytes // 20 + 1))[: flood.piece_bytes]
    whole_frame = contents(identity, [words])[0]
    if flood.one_frame:
        opening, _, _ = contents(identity, ["@"])[0].partition(b"@")
        yield opening
    for _ in range(-(-flood.total_bytes // flood.piece_bytes)):
        yield words.encode() if flood.one_frame else whole_frame
