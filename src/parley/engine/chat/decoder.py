"""A chat-completions stream decoded: bytes in, pieces out, closed by exactly one `Closing`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from parley.engine.chat.assembly import Assembly
from parley.engine.chat.content import flat_text, words_of
from parley.engine.chat.faults import InferenceFault
from parley.engine.chat.frames import MAX_FRAME_BYTES, MAX_STREAM_BYTES, Frame, FrameParser
from parley.engine.chat.notes import Notes
from parley.engine.chat.payload import is_cut_json, read_json, write_json
from parley.engine.chat.pieces import Closing, FinishReason, Piece, Usage
from parley.engine.chat.response import (
    FULL_DISCLOSURE,
    Disclosure,
    error_text,
    not_a_stream,
    provider_error,
)
from parley.engine.chat.usage import read_usage
from parley.engine.messages import Reasoning, Refusal, Text
from parley.engine.text import clean

_FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "safety": "content_filter",
}
"""What providers call the ways an answer ends, lower case; anything else is unknown, with a note."""
_REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking", "reasoning_details")
"""Names of one thing. Providers that send two of them send the same text twice: the first counts."""
_FIRST_CHOICE = (0, None, "0")
_BOM = b"\xef\xbb\xbf"
_SNIFFED_BYTES = 1024
"""White space that may stand before a body whose first character tells what it is."""
_MAX_NAME_CHARS = 100


class ChatDecoder:
    """Decodes one attempt.

    `model` is the configured name of the llm, used where the provider gives none. `made_up_ids` begins
    the ids of tool calls that come without one: give a prefix per round to keep them apart in a history.
    Pieces that came before a fault are given first; the fault is raised by the next call.
    """

    def __init__(
        self,
        model: str,
        *,
        content_type: str = "",
        disclosure: Disclosure = FULL_DISCLOSURE,
        made_up_ids: str = "call_",
        max_frame_bytes: int = MAX_FRAME_BYTES,
        max_stream_bytes: int = MAX_STREAM_BYTES,
    ) -> None:
        self.done = False
        """The answer is over, well or not: read no further and call `close`."""
        self._configured_model = model
        self._model: str | None = None
        self._content_type = content_type
        self._disclosure = disclosure
        self._max_body_bytes = max_frame_bytes
        self._frames = FrameParser(max_frame_bytes=max_frame_bytes, max_stream_bytes=max_stream_bytes)
        self._notes = Notes()
        self._note = self._notes.add
        self._assembly = Assembly(made_up_ids, self._note)
        self._form: Literal["unknown", "frames", "body"] = "unknown"
        self._body = bytearray()
        self._has_data = False
        self._finish: FinishReason | None = None
        self._usage: Usage | None = None
        self._fault: InferenceFault | None = None

    @property
    def answered(self) -> bool:
        """A finish_reason came: only usage and [DONE] are missing, `close` gives a complete attempt."""
        return self._finish is not None

    def feed(self, data: bytes) -> Sequence[Piece]:
        """The pieces that `data` completes. Raises `InferenceFault`; bytes after the end are ignored."""
        if not self.done:
            try:
                self._read(data)
            except InferenceFault as fault:
                self._fail(fault)
        pieces = self._assembly.take()
        if self._fault is not None and not pieces:
            raise self._fault
        return pieces

    def close(self) -> list[Piece]:
        """The connection ended, however: the last pieces and the `Closing`. Call it once.

        Raises `InferenceFault`: stream_cut where neither a finish_reason nor [DONE] came, or not_a_stream.
        """
        if not self.done:
            try:
                self._read_end()
            except InferenceFault as fault:
                self._fail(fault)
        if self._fault is not None:
            raise self._fault
        if self._finish is None:
            self._note("the stream ended without a finish_reason")
        self._assembly.end()
        closing = Closing(
            finish_reason=self._finish or "unknown",
            model=self._model,
            usage=self._usage,
            notes=self._notes.all(),
        )
        return [*self._assembly.take(), closing]

    def _fail(self, fault: InferenceFault) -> None:
        fault.usage = self._usage
        self._fault = fault
        self.done = True

    def _read(self, data: bytes) -> None:
        if self._form == "unknown":
            data = self._sniff(data)
        if self._form == "body":
            self._body += data
            if len(self._body) > self._max_body_bytes:
                message = f"the endpoint sent a body of more than {self._max_body_bytes:,} bytes"
                raise InferenceFault("stream_too_large", message, retryable=False)
        elif self._form == "frames":
            self._read_frames(data)

    def _read_frames(self, data: bytes) -> None:
        payloads = self._frames.payloads(data)
        if payloads is None:
            for frame in self._frames.feed(data):
                self._read_frame(frame)
                if self.done:
                    return
            return
        for payload in payloads:
            self._read_payload(payload)
            if self.done:
                return

    def _sniff(self, data: bytes) -> bytes:
        """Hold the first bytes back until they tell what the body is; then give them out."""
        self._body += data
        head = bytes(self._body[:_SNIFFED_BYTES])
        start = head.removeprefix(_BOM).lstrip()[:1]
        if len(head) < _SNIFFED_BYTES and (not start or _BOM.startswith(head)):
            return b""
        if start in (b"<", b"["):
            raise not_a_stream(self._content_type, self._disclosure)
        self._form = "body" if start == b"{" else "frames"
        head = bytes(self._body)
        self._body.clear()
        return head

    def _read_end(self) -> None:
        if self._form == "body":
            self._read_body(bytes(self._body).removeprefix(_BOM))
        else:
            self._read_last_frame()
        if self._finish is None and not self.done:
            raise self._cut()

    def _read_last_frame(self) -> None:
        frame = self._frames.close()
        if frame is not None:
            try:
                self._read_frame(frame)
            except InferenceFault as fault:
                if fault.code != "stream_malformed":
                    raise
        elif not self._has_data and self._frames.stranger is not None:
            theirs = self._disclosure.excerpt(self._frames.stranger)
            raise not_a_stream(self._content_type, self._disclosure, theirs)

    def _cut(self) -> InferenceFault:
        when = "before the answer was complete" if self._has_data else "before anything was sent"
        return InferenceFault("stream_cut", f"the connection ended {when}", retryable=True)

    def _read_body(self, body: bytes) -> None:
        """A plain completion, from an endpoint that does not stream, is one answer; other JSON is none."""
        self._has_data = True
        try:
            value = read_json(body)
        except ValueError:
            if is_cut_json(body):
                raise self._cut() from None
            raise not_a_stream(self._content_type, self._disclosure) from None
        if isinstance(value, dict):
            self._raise_error_in(value)
        if not _is_completion(value):
            raise not_a_stream(self._content_type, self._disclosure, error_text(value))
        self._note("the endpoint answered at once, without streaming")
        self._read_chunk(value)
        self.done = True

    def _read_frame(self, frame: Frame) -> None:
        if frame.event == b"error":
            raise provider_error(_json_or_text(frame.data), self._disclosure)
        self._read_payload(frame.data)

    def _read_payload(self, data: bytes) -> None:
        bare = data.strip()
        if bare == b"[DONE]":
            self.done = True
        elif bare:
            self._has_data = True
            try:
                chunk = read_json(data)
            except ValueError:
                theirs = self._disclosure.excerpt(data)
                raise self._malformed("a frame that is not JSON", theirs) from None
            self._read_chunk(chunk)

    def _malformed(self, what: str, theirs: str = "") -> InferenceFault:
        message = self._disclosure.message(f"the endpoint sent {what}", theirs)
        return InferenceFault("stream_malformed", message, retryable=False)

    def _raise_error_in(self, value: dict[str, Any]) -> None:
        if value.get("error") or value.get("object") == "error":
            raise provider_error(value, self._disclosure)

    def _read_chunk(self, chunk: Any) -> None:
        if not isinstance(chunk, dict):
            raise self._malformed("a frame that is not an object")
        if "error" in chunk or chunk.get("object") == "error":
            self._raise_error_in(chunk)
        if self._model is None:
            self._read_model(chunk.get("model"))
        if (usage := chunk.get("usage")) is not None:
            self._read_usage(usage)
        choices = chunk.get("choices")
        if not choices:
            return
        if not isinstance(choices, list):
            raise self._malformed("choices that are not a list")
        for choice in choices:
            self._read_choice(choice)

    def _read_model(self, model: Any) -> None:
        if isinstance(model, str) and model:
            self._model = clean(model)[:_MAX_NAME_CHARS]

    def _read_usage(self, raw: Any) -> None:
        usage = read_usage(raw, self._model or self._configured_model, self._note)
        self._usage = usage or self._usage

    def _read_choice(self, choice: Any) -> None:
        if not isinstance(choice, dict):
            raise self._malformed("a choice that is not an object")
        if choice.get("index") not in _FIRST_CHOICE:
            self._note("choices after the first were ignored")
            return
        if "error" in choice or "object" in choice:
            self._raise_error_in(choice)
        added_before = self._assembly.added
        delta = choice.get("delta")
        if delta is None and not added_before:
            # Some endpoints send whole messages; others repeat theirs at the end of its deltas.
            delta = choice.get("message")
        if delta:
            self._read_delta(delta)
        if self._assembly.added != added_before:
            self._finish = None
        if reason := choice.get("finish_reason"):
            self._read_finish(reason)
        if (usage := choice.get("usage")) is not None:
            self._read_usage(usage)

    def _read_finish(self, reason: Any) -> None:
        if reason == "error":
            raise provider_error("finish_reason is error", self._disclosure)
        named = reason if isinstance(reason, str) else type(reason).__name__
        self._finish = _FINISH_REASONS.get(named.lower(), "unknown")
        if self._finish == "unknown":
            self._note(f"finish_reason {clean(named)[:_MAX_NAME_CHARS]} is not known")

    def _read_delta(self, delta: Any) -> None:
        if not isinstance(delta, dict):
            raise self._malformed("a delta that is not an object")
        content = delta.get("content")
        if len(delta) == 1 and content and isinstance(content, str):  # nearly every delta there is
            self._assembly.say(Text, content)
            return
        self._read_reasoning(delta)
        if delta.get("role") == "tool":
            self._read_result(delta)
        elif content:
            self._read_content(content)
        if refusal := delta.get("refusal"):
            self._assembly.say(Refusal, flat_text(refusal))
        if calls := delta.get("tool_calls") or delta.get("function_call"):
            self._read_calls(calls)
        if results := delta.get("tool_results"):
            for result in results if isinstance(results, list) else [results]:
                self._read_result(result)

    def _read_reasoning(self, delta: dict[str, Any]) -> None:
        for name in _REASONING_FIELDS:
            value = delta.get(name)
            if value and (text := flat_text(value)):
                self._assembly.say(Reasoning, text)
                return

    def _read_content(self, content: Any) -> None:
        if isinstance(content, str):
            self._assembly.say(Text, content)
            return
        for kind, text in words_of(content, self._note_skipped):
            self._assembly.say(kind, text)

    def _note_skipped(self, part_type: str) -> None:
        self._note(f"a content part of type {clean(part_type)[:_MAX_NAME_CHARS]} was skipped")

    def _read_calls(self, calls: Any) -> None:
        try:
            for position, piece in enumerate(calls if isinstance(calls, list) else [calls]):
                self._assembly.call(piece, position)
        except ValueError:
            raise self._malformed("arguments of a tool call that are not JSON") from None

    def _read_result(self, result: Any) -> None:
        if not isinstance(result, dict):
            self._note("a tool result that is not an object was skipped")
            return
        call_id, name = (
            value if isinstance(value, str) else ""
            for value in (result.get("tool_call_id") or result.get("id"), result.get("name"))
        )
        try:
            self._assembly.answer(call_id, name, _result_text(result.get("content")))
        except ValueError:
            raise self._malformed("a tool result that is not JSON") from None


def _is_completion(value: Any) -> bool:
    choices = value.get("choices") if isinstance(value, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return isinstance(first, dict) and isinstance(first.get("message"), dict)


def _json_or_text(data: bytes) -> Any:
    try:
        return read_json(data)
    except ValueError:
        return data.decode(errors="replace")


def _result_text(content: Any) -> str:
    """A result as text: text parts joined, any other JSON written out."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return flat_text(content) if _is_text_parts(content) else write_json(content)


def _is_text_parts(content: Any) -> bool:
    return isinstance(content, list) and all(
        isinstance(part, str) or (isinstance(part, dict) and part.get("type") == "text") for part in content
    )
