"""Tool calls put together from their pieces, whatever of index, id and name the provider leaves out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from parley.engine.chat.payload import read_json, write_json
from parley.engine.messages import ToolCall
from parley.engine.text import clean

_Slot: TypeAlias = tuple[str, int | str]
_BeginsAnother: TypeAlias = Callable[["_OpenCall", str, str, str], bool]

MAX_CALLS = 256
"""Calls of one answer that are kept; no agent needs more, and each is sent on in every later turn."""
MAX_NAME_CHARS = 256
"""Ids and names are cut there; providers bound them at 64 or less."""
_MAX_CHECKED_CHARS = 16_384
"""Longer arguments are not read while they grow: reading them at each piece costs their length squared."""


class _OpenCall:
    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self._arguments: list[str] = []
        self._arguments_chars = 0

    @property
    def arguments(self) -> str:
        return "".join(self._arguments)

    @property
    def is_whole(self) -> bool:
        """Whether the arguments are an object already, so that a further piece begins another call."""
        if self._arguments_chars > _MAX_CHECKED_CHARS:
            return False
        try:
            return isinstance(read_json(self.arguments.encode()), dict)
        except ValueError:
            return False

    def add(self, call_id: str, name: str, arguments: str) -> None:
        """Id and name count once, however often they are sent; arguments grow."""
        self.id = self.id or call_id
        self.name = self.name or name
        self._arguments.append(arguments)
        self._arguments_chars += len(arguments)


class OpenCalls:
    """The calls of one answer that are still being written, in the order they began.

    `made_up_ids` begins the ids of calls that come without one; `note` is told what was unusual.
    """

    def __init__(self, made_up_ids: str, note: Callable[[str], None]) -> None:
        self._made_up_ids = made_up_ids
        self._note = note
        self._open: list[_OpenCall] = []
        self._by_slot: dict[_Slot, _OpenCall] = {}
        self._closed: dict[str, str] = {}
        self._made_up = 0

    def __bool__(self) -> bool:
        return bool(self._open)

    @property
    def closed(self) -> dict[str, str]:
        """The names of the calls that were given out, by id."""
        return self._closed

    def add(self, piece: Any, position: int) -> bool:
        """Take a piece that stood at `position` of its list. Returns False for one that says nothing.

        Raises ValueError for arguments that cannot be written as JSON.
        """
        if not isinstance(piece, dict):
            self._note("a tool call that is not an object was skipped")
            return False
        function = piece.get("function")
        if not isinstance(function, dict):
            function = piece
        call_id, name = _word(piece.get("id")), _word(function.get("name"))
        arguments = _arguments(function.get("arguments"))
        if not (call_id or name or arguments):
            return False
        call = self._place(piece.get("index"), position, call_id, name, arguments)
        if call is None:
            self._note(f"more than {MAX_CALLS} tool calls in one answer were left out")
            return False
        call.add(call_id, name, arguments)
        return True

    def close(self) -> Iterator[ToolCall]:
        """The open calls, whole; what comes later belongs to other calls."""
        for call in self._open:
            if not call.name:
                self._note("a tool call came without a name")
            call_id = clean(call.id) or self._made_up_id()
            name = clean(call.name)
            self._closed[call_id] = name
            yield ToolCall(id=call_id, name=name, arguments=clean(call.arguments))
        self._open.clear()
        self._by_slot.clear()

    def _place(self, index: Any, position: int, call_id: str, name: str, arguments: str) -> _OpenCall | None:
        if isinstance(index, int | str):
            slot: _Slot = ("index", index)
            begins_another: _BeginsAnother = _begins_another_at_index
        elif call_id and ("id", call_id) in self._by_slot:
            return self._by_slot["id", call_id]
        else:
            slot = ("position", position)
            begins_another = _begins_another_at_position
        call = self._by_slot.get(slot)
        if call is None or begins_another(call, call_id, name, arguments):
            if len(self._open) + len(self._closed) >= MAX_CALLS:
                return None
            call = _OpenCall()
            self._open.append(call)
            self._by_slot[slot] = call
        if call_id:
            self._by_slot["id", call_id] = call
        return call

    def _made_up_id(self) -> str:
        self._note("a tool call came without an id")
        while True:
            self._made_up += 1
            call_id = f"{self._made_up_ids}{self._made_up}"
            if call_id not in self._closed:
                return call_id


def _begins_another_at_index(call: _OpenCall, call_id: str, name: str, _arguments: str) -> bool:
    """Some providers number every call 0: another name under another id is another call."""
    return bool(name and call_id and call.id and call_id != call.id)


def _begins_another_at_position(call: _OpenCall, call_id: str, name: str, arguments: str) -> bool:
    """Without a number, a piece that names a call begins one, unless it repeats what is open.

    A piece with the id of an open call never gets here.
    """
    if not name:
        return False
    if (call_id and call.id) or (call.name and name != call.name):
        return True
    return bool(arguments) and call.is_whole


def _word(value: Any) -> str:
    return value[:MAX_NAME_CHARS] if isinstance(value, str) else ""


def _arguments(value: Any) -> str:
    """The raw string; an object, as some providers send it, is written out."""
    if value is None:
        return ""
    return value if isinstance(value, str) else write_json(value)
