"""Server-sent events, read incrementally: bytes in, data payloads out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from parley.engine.chat.faults import InferenceFault

MAX_FRAME_BYTES = 4 * 1024 * 1024
"""One frame: a chunk is some hundred bytes; a whole tool result or an inline image takes megabytes."""
MAX_STREAM_BYTES = 32 * 1024 * 1024
"""One stream: about 200 bytes carry one token, so this is more than any llm writes in one answer."""

_BOM = b"\xef\xbb\xbf"
_FIELDS = (b"data", b"event", b"id", b"retry")


class Frame(NamedTuple):
    """One dispatched frame: its data lines joined by LF, and its event name (empty when unnamed)."""

    data: bytes
    event: bytes = b""


class FrameParser:
    """Cuts one stream into frames. Only LF, CRLF and CR end a line, wherever the bytes are cut.

    `stranger` is the first line that is no field of an event stream: the body may be something else.
    """

    def __init__(
        self, *, max_frame_bytes: int = MAX_FRAME_BYTES, max_stream_bytes: int = MAX_STREAM_BYTES
    ) -> None:
        self.stranger: bytes | None = None
        self._max_frame_bytes = max_frame_bytes
        self._max_stream_bytes = max_stream_bytes
        self._seen_bytes = 0
        self._unfinished: list[bytes] = []  # parts of the line that has no end yet
        self._unfinished_bytes = 0
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._event = b""
        self._is_after_cr = False
        self._is_at_start = True

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that `data` completes, read as they are asked for: exhaust it before the next call.

        Raises `InferenceFault` (stream_too_large) after the frames that still fit.
        """
        room = self._max_stream_bytes - self._seen_bytes
        self._seen_bytes += len(data)
        yield from self._frames(data[:room])
        if len(data) > room:
            raise _too_large("stream", self._max_stream_bytes)

    def close(self) -> Frame | None:
        """The last frame, when the connection ended without the blank line behind it."""
        if self._unfinished:
            self._read_line(b"".join(self._unfinished))
        return self._dispatch()

    def _frames(self, data: bytes) -> Iterator[Frame]:
        data = self._with_lf_only(data)
        if b"\n" not in data:
            self._keep_unfinished(data)
            return
        *lines, rest = b"".join((*self._unfinished, data)).split(b"\n")
        self._unfinished.clear()
        self._unfinished_bytes = 0
        for line in lines:
            if line:
                self._read_line(line)
            elif frame := self._dispatch():
                yield frame
        self._keep_unfinished(rest)

    def _with_lf_only(self, data: bytes) -> bytes:
        if self._is_after_cr and data:
            self._is_after_cr = False
            data = data.removeprefix(b"\n")
        if b"\r" in data:
            self._is_after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return data

    def _keep_unfinished(self, data: bytes) -> None:
        if data:
            self._unfinished.append(data)
            self._unfinished_bytes += len(data)
            self._check_room(self._unfinished_bytes)

    def _check_room(self, line_bytes: int) -> None:
        if self._data_bytes + line_bytes > self._max_frame_bytes:
            raise _too_large("frame", self._max_frame_bytes)

    def _read_line(self, line: bytes) -> None:
        self._check_room(len(line))
        if self._is_at_start:
            self._is_at_start = False
            line = line.removeprefix(_BOM)
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._data_bytes += len(line)
        elif name == b"event":
            self._event = value.strip()
        elif self.stranger is None and not any(field.startswith(name) for field in _FIELDS):
            self.stranger = line

    def _dispatch(self) -> Frame | None:
        self._is_at_start = False
        if not self._data and not self._event:
            return None
        frame = Frame(b"\n".join(self._data), self._event)
        self._data.clear()
        self._data_bytes = 0
        self._event = b""
        return frame


def _too_large(what: str, max_bytes: int) -> InferenceFault:
    message = f"the endpoint sent a {what} of more than {max_bytes:,} bytes"
    return InferenceFault("stream_too_large", message, retryable=False)
