"""Server-sent events, from bytes in any cut to whole messages. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from parley.sdk.errors import StreamBroken

_LINE_END = re.compile(rb"\r\n|\n|\r")
"""Nothing else ends a line: U+2028 and its kin are text."""
_SENDABLE = re.compile(rb"[\x21-\x7e]{0,200}")
"""An id that a header can take back; no other one is the service's."""
LONGEST_MESSAGE = 16_000_000
"""Bytes; far above anything the service sends."""


@dataclass(frozen=True, slots=True)
class Message:
    """The data of one message, and the last id that was sent before its end."""

    id: str
    data: str


class FrameReader:
    """Reads a stream as it arrives."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._held = b""
        self._id = ""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[Message]:
        """The messages that end within `chunk`. Raises `StreamBroken` for one without an end."""
        text = self._held + chunk
        # The second half of a CRLF may still be on its way.
        self._held = b"\r" if text.endswith(b"\r") else b""
        first, *others = _LINE_END.split(text[: len(text) - len(self._held)])
        self._rest += first
        for begun in others:
            line, self._rest = bytes(self._rest), bytearray(begun)
            if message := self._line(line):
                yield message
        if self._size + len(self._rest) > LONGEST_MESSAGE:
            raise StreamBroken("The stream holds a message that is larger than any the service sends.")

    def _line(self, line: bytes) -> Message | None:
        if not line:
            return self._ended()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._size += len(value) + 1
        elif name == b"id" and _SENDABLE.fullmatch(value):
            self._id = value.decode("ascii")
        return None

    def _ended(self) -> Message | None:
        data, self._data, self._size = self._data, [], 0
        return Message(self._id, b"\n".join(data).decode("utf-8", "replace")) if data else None
