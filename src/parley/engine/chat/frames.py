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

    def payloads(self, data: bytes) -> list[bytes] | None:
        """The payloads, if `data` is whole frames of one data line each: what nearly every read is.

        None for anything else, which has to be fed.
        """
        if not (
            data.startswith(b"data: ")
            and data.endswith(b"\n\n")
            and b"\r" not in data
            and not (self._unfinished or self._data or self._event or self._is_after_cr)
            and len(data) <= min(self._max_stream_bytes - self._seen_bytes, self._max_frame_bytes)
        ):
            return None
        payloads = data[6:-2].split(b"\n\ndata: ")
        if data.count(b"\n") != 2 * len(payloads):
            return None
        self._seen_bytes += len(data)
        self._is_at_start = False
        return payloads

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that `data` completes, read as they are asked for: exhaust it before the next call.

        Raises `InferenceFault` (stream_too_large) after the frames that still fit.
        """
        room = self._max_stream_bytes - self._seen_bytes
        self._seen_bytes += len(data)
        for line in self._lines(data[:room]):
            if line:
                self._read_line(line)
            elif self._data or self._event:
                yield self._dispatch()
        if self._data_bytes + self._unfinished_bytes > self._max_frame_bytes:
            raise _too_large("frame", self._max_frame_bytes)
        if len(data) > room:
            raise _too_large("stream", self._max_stream_bytes)

    def close(self) -> Frame | None:
        """The last frame, when the connection ended without the blank line behind it."""
        if self._unfinished:
            self._read_line(b"".join(self._unfinished))
        return self._dispatch() if self._data or self._event else None

    def _lines(self, data: bytes) -> list[bytes]:
        """The lines that `data` ends, without their ends."""
        *lines, rest = self._with_lf_only(data).split(b"\n")
        if lines and self._unfinished:
            lines[0] = b"".join((*self._unfinished, lines[0]))
            self._unfinished.clear()
            self._unfinished_bytes = 0
        if rest:
            self._unfinished.append(rest)
            self._unfinished_bytes += len(rest)
        return lines

    def _with_lf_only(self, data: bytes) -> bytes:
        if self._is_after_cr and data:
            self._is_after_cr = False
            data = data.removeprefix(b"\n")
        if b"\r" in data:
            self._is_after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return data

    def _read_line(self, line: bytes) -> None:
        if self._data_bytes + len(line) > self._max_frame_bytes:
            raise _too_large("frame", self._max_frame_bytes)
        if self._is_at_start:
            self._is_at_start = False
            line = line.removeprefix(_BOM)
        if line.startswith(b"data: "):  # nearly every line there is
            self._data.append(line[6:])
            self._data_bytes += len(line)
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._data_bytes += len(line)
        elif name == b"event":
            self._event = value
        elif self.stranger is None and not any(field.startswith(name) for field in _FIELDS):
            self.stranger = line

    def _dispatch(self) -> Frame:
        data = self._data
        frame = Frame(data[0] if len(data) == 1 else b"\n".join(data), self._event)
        data.clear()
        self._data_bytes = 0
        self._event = b""
        return frame


def _too_large(what: str, max_bytes: int) -> InferenceFault:
    message = f"the endpoint sent a {what} of more than {max_bytes:,} bytes"
    return InferenceFault("stream_too_large", message, retryable=False)
