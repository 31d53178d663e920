"""Answers to the tool calls a gateway leaves open, from the mocks of a definition."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from parley.engine.messages import ToolCall, ToolResult
from parley.engine.spec import ToolMock


class MockTools:
    """The first mock whose name and `match` fit answers; without one the tool is not available."""

    def __init__(self, mocks: Sequence[ToolMock]) -> None:
        self._mocks = mocks

    def answer(self, call: ToolCall) -> ToolResult:
        """The result for `call`; an error of a mock is told as `{"error": ...}`."""
        for mock in self._mocks:
            if mock.name == call.name and _fits(mock.match, call.arguments):
                return ToolResult(id=call.id, name=call.name, content=_content(mock))
        text = json.dumps({"error": f"The tool {call.name!r} is not available in this test."})
        return ToolResult(id=call.id, name=call.name, content=text)


def _content(mock: ToolMock) -> str:
    if mock.result is not None:
        return mock.result
    return json.dumps({"error": mock.error}, ensure_ascii=False)


def _fits(match: Mapping[str, Any] | None, arguments: str) -> bool:
    if match is None:
        return True
    try:
        given = json.loads(arguments.strip() or "{}")  # many llms write nothing for no arguments
        return contains(given, match)
    except (ValueError, RecursionError):
        return False


def contains(given: object, wanted: object) -> bool:
    """Whether `given` holds all of `wanted`: objects by subset, lists and values whole, compared by value."""
    if isinstance(wanted, Mapping):
        return isinstance(given, Mapping) and all(
            key in given and contains(given[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        return isinstance(given, list) and len(given) == len(wanted) and all(map(contains, given, wanted))
    if isinstance(wanted, bool) or isinstance(given, bool):
        return given is wanted
    return given == wanted
