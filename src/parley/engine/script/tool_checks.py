"""What is expected of the tool calls of a step."""

from __future__ import annotations

from collections.abc import Iterator

from parley.engine.checks.jsontext import JsonUnreadable, read_json
from parley.engine.script.check import CheckRecord
from parley.engine.script.observation import Call
from parley.engine.script.shapes import ToolExpect
from parley.engine.tools import contains


def tool_checks(tool: ToolExpect, calls: tuple[Call, ...], path: str) -> Iterator[CheckRecord]:
    """One expectation against all calls: how many there are, and after which other."""
    named = [call for call in calls if call.name == tool.name]
    fitting = [call for call in named if _has_arguments(call, tool)]
    low, high = _bounds(tool)
    passed = low <= len(fitting) and (high is None or len(fitting) <= high)
    with_arguments = "" if tool.arguments is None else " with these arguments"
    yield CheckRecord(
        check=path,
        passed=passed,
        expected=tool.wire(),
        actual=[{"name": call.name, "arguments": call.arguments} for call in named],
        detail=f"{tool.name} was called {_times(len(fitting))}{with_arguments}"
        + ("." if passed else f"; {_wanted(low, high)} expected."),
    )
    if passed and tool.after is not None:
        yield _order_check(tool, fitting, calls, path)


def _bounds(tool: ToolExpect) -> tuple[int, int | None]:
    if not tool.called:
        return 0, 0
    return (tool.count.min, tool.count.max) if tool.count else (1, None)


def _has_arguments(call: Call, tool: ToolExpect) -> bool:
    if tool.arguments is None:
        return True
    given = call.arguments
    if isinstance(given, str):
        try:
            given = read_json(given)
        except JsonUnreadable:
            return False
    if not contains(given, tool.arguments):
        return False
    return not tool.exact or contains(tool.arguments, given)


def _order_check(tool: ToolExpect, fitting: list[Call], calls: tuple[Call, ...], path: str) -> CheckRecord:
    first_before = next((call.at for call in calls if call.name == tool.after), None)
    passed = not fitting or (first_before is not None and first_before < fitting[0].at)
    return CheckRecord(
        check=f"{path}.after",
        passed=passed,
        expected=tool.after,
        detail=f"{tool.name} was {'' if passed else 'not '}called after {tool.after}.",
    )


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


def _wanted(low: int, high: int | None) -> str:
    if high == low:
        return f"exactly {low} calls were" if low != 1 else "exactly 1 call was"
    return f"at least {low} were" if high is None else f"{low} to {high} were"
