"""One answer put together: words as they come, tool calls and their results whole, in stream order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from parley.engine.chat.calls import MAX_CALLS, MAX_NAME_CHARS, OpenCalls
from parley.engine.chat.content import WordsKind
from parley.engine.messages import Part, ToolResult
from parley.engine.text import clean, ends_in_half


class Assembly:
    """Collects parts until they are taken. At most one of words, calls and a result is open at a time."""

    def __init__(self, made_up_ids: str, note: Callable[[str], None]) -> None:
        self.added = 0
        """How many bits of words, calls and results were added so far."""
        self._note = note
        self._parts: list[Part] = []
        self._kind: WordsKind | None = None
        self._words: list[str] = []
        self._half = ""  # the first half of a character, waiting for its second
        self._calls = OpenCalls(made_up_ids, note)
        self._result_id: str | None = None
        self._result_name = ""
        self._result: list[str] = []
        self._answered: set[str] = set()
        self._asked: deque[str] = deque()  # calls in order, answered ones dropped from the front

    def say(self, kind: WordsKind, text: str) -> None:
        """Add words; nothing happens for an empty string."""
        if not text:
            return
        if kind is not self._kind:
            self.end()
            self._kind = kind
        self.added += 1
        self._words.append(text)

    def call(self, piece: Any, position: int) -> None:
        """Add a piece of a tool call. Raises ValueError for arguments that are not finite."""
        if not self._calls:
            self.end()
        if self._calls.add(piece, position):
            self.added += 1

    def answer(self, call_id: str, name: str, content: str) -> None:
        """Add to the result of the call `call_id`; without an id, of the first call not yet answered."""
        if self._calls:
            self.end()
        call_id = clean(call_id[:MAX_NAME_CHARS]) or self._first_unanswered()
        if not call_id:
            self._note("a tool result that belongs to no call was skipped")
            return
        if call_id != self._result_id:
            self.end()
            if len(self._answered) >= MAX_CALLS:
                self._note(f"more than {MAX_CALLS} tool results in one answer were left out")
                return
            self._result_id = call_id
        self.added += 1
        self._result_name = self._result_name or name[:MAX_NAME_CHARS]
        self._result.append(content)

    def take(self) -> list[Part]:
        """The parts so far; what is still open stays, except words, which never wait."""
        if self._kind is not None and self._words:
            self._give_words(self._kind)
        parts, self._parts = self._parts, []
        return parts

    def end(self) -> None:
        """Nothing more is coming to what is open."""
        if self._kind is not None:
            self._give_words(self._kind)
            if self._half:
                self._parts.append(self._kind(text=clean(self._half)))
            self._half = ""
            self._kind = None
        for call in self._calls.close():
            self._parts.append(call)
            self._asked.append(call.id)
        if self._result_id is not None:
            self._give_result(self._result_id)

    def _give_words(self, kind: WordsKind) -> None:
        text = self._half + "".join(self._words)
        self._words.clear()
        if self._half or ends_in_half(text):
            self._half = text[-1] if ends_in_half(text) else ""
            text = text.removesuffix(self._half)
        if text:
            self._parts.append(kind(text=clean(text)))

    def _give_result(self, call_id: str) -> None:
        if call_id not in self._calls.closed:
            self._note("a tool result came for a call that was not streamed")
        name = clean(self._result_name) or self._calls.closed.get(call_id, "")
        self._parts.append(ToolResult(id=call_id, name=name, content=clean("".join(self._result))))
        self._answered.add(call_id)
        self._result_id = None
        self._result_name = ""
        self._result.clear()

    def _first_unanswered(self) -> str:
        while self._asked and self._asked[0] in self._answered:
            self._asked.popleft()
        return self._asked[0] if self._asked else ""
