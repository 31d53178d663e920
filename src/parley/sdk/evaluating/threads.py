"""Plain functions beside an event loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T]) -> T:
    """What `work` returns or raises. Each call has a thread of its own, which nobody waits for when this is
    cancelled: one that hangs takes no place from others, and does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(act: Callable[[], None]) -> None:
        if not done.done():
            act()

    def carry_out() -> None:
        try:
            value = context.run(work)
        except BaseException as error:
            fault = error
            _tell(loop, lambda: settle(lambda: done.set_exception(_storable(fault))))
        else:
            _tell(loop, lambda: settle(lambda: done.set_result(value)))

    threading.Thread(target=carry_out, name="parley-agent", daemon=True).start()
    return await done


def _tell(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
    """Hand over to the loop; one that is closed no longer wants to know."""
    try:
        loop.call_soon_threadsafe(act)
    except RuntimeError:
        return


def _storable(error: BaseException) -> BaseException:
    """A future cannot hold StopIteration."""
    return RuntimeError(f"StopIteration: {error}") if isinstance(error, StopIteration) else error
