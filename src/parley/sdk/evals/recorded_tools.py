"""Tools whose calls are noted."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from parley.sdk.evals.calling import is_async
from parley.sdk.evals.recorder import record
from parley.sdk.evals.step_notes import ToolCallNote

F = TypeVar("F", bound=Callable[..., Any])
_MARK = "__parley_tool__"


def recorded_tool(function: F) -> F:
    """A tool whose calls are noted with arguments and result; sync or async, unchanged otherwise."""
    name = getattr(function, "__name__", type(function).__name__)

    def begin(args: Sequence[Any], kwargs: dict[str, Any]) -> ToolCallNote:
        return record.tool_call(name, _named(function, args, kwargs) if record.is_on else None)

    if is_async(function):

        @functools.wraps(function)
        async def noted_async(*args: Any, **kwargs: Any) -> Any:
            note = begin(args, kwargs)
            try:
                value = await function(*args, **kwargs)
            except BaseException as error:
                note.ended_by(error)
                raise
            note.result(value)
            return value

        return cast(F, _marked(noted_async))

    @functools.wraps(function)
    def noted(*args: Any, **kwargs: Any) -> Any:
        note = begin(args, kwargs)
        try:
            value = function(*args, **kwargs)
        except BaseException as error:
            note.ended_by(error)
            raise
        note.result(value)
        return value

    return cast(F, _marked(noted))


def unrecorded(function: Callable[..., Any]) -> Callable[..., Any]:
    """The tool itself, for those who note its calls in their own way."""
    inner: Callable[..., Any] = getattr(function, _MARK, function)
    return inner


def _marked(noted: Any) -> Any:
    setattr(noted, _MARK, noted.__wrapped__)
    return noted


def _named(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by their names, defaults left out."""
    try:
        return dict(inspect.signature(function).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        return {**{f"arg{index}": value for index, value in enumerate(args)}, **kwargs}
