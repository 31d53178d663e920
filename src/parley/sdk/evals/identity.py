"""Who is asking: the attempt that the current code runs for, carried by a context variable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The attempt. `session_id` is unique to it: use it as thread or session of your agent."""

    suite_id: str
    case_id: str
    attempt_id: str
    session_id: str
    repetition: int
    params: Any = None


_CURRENT: ContextVar[Identity | None] = ContextVar("parley_attempt", default=None)


def current_attempt() -> Identity | None:
    """The attempt that this code runs for, in tasks and threads too; None outside of evals."""
    return _CURRENT.get()


@contextmanager
def acting_for(identity: Identity) -> Iterator[None]:
    """Run a block on behalf of an attempt."""
    token = _CURRENT.set(identity)
    try:
        yield
    finally:
        _CURRENT.reset(token)
