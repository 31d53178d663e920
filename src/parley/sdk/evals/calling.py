"""Calling what customers hand in: sync or async, with as many arguments as it wants."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from parley.sdk.evaluating.threads import in_thread


async def call(function: Callable[..., Any], *offered: Any) -> Any:
    """What `function` gives for the first of the `offered` arguments that it takes.

    Async functions run here, plain ones in a thread of their own. A thread cannot be cancelled: a
    cancelled call waits for its end, which whoever cancels bounds.
    """
    work = partial(function, *fitting(function, offered))
    if is_async(function):
        return await work()
    value = await _to_its_end(work)
    return await value if inspect.isawaitable(value) else value


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine without doing anything yet."""
    inner = function.func if isinstance(function, partial) else function
    called = inner if inspect.isroutine(inner) else type(inner).__call__
    return inspect.iscoroutinefunction(called)


def fitting(function: Callable[..., Any], offered: tuple[Any, ...]) -> tuple[Any, ...]:
    """As many of `offered`, from the left, as `function` takes by position."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-in callables, such as str, tell no signature
        return offered[:1]
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return offered
    by_position = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return offered[: len(by_position)]


async def _to_its_end(work: Callable[[], Any]) -> Any:
    task = asyncio.ensure_future(in_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if task.done() and not task.cancelled():
            task.exception()  # looked at, so that nobody complains about it
        raise
