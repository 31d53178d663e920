"""Where attempts are kept: a port with two stores, in memory and in Postgres."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from parley.engine.script.protocol import RouteError, State

Event: TypeAlias = Mapping[str, Any]
"""A progress event as plain data."""
Admitted: TypeAlias = Literal["admitted", "known", "differs", "full"]
Hold: TypeAlias = Literal["held", "cancelled", "lost"]
Duty: TypeAlias = Literal["play", "cancel", "lost"]


class LeaseLost(Exception):
    """Somebody else may have the attempt by now: nothing more is to be written for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """An attempt to be kept. `order` is what was asked for; the same id with another one is refused.

    Attempts with one `lock` are never played at the same time.
    """

    attempt_id: str
    order: Mapping[str, Any]
    lock: str | None = None
    replay_safe: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """An attempt in hand, by a `token` of this claim's own.

    `play` it; or end it without playing: `cancel` was wished for before it began, or it was `lost` in the
    hands of a process that is gone.
    """

    attempt_id: str
    token: str
    duty: Duty
    order: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvents:
    """Events after a cursor, each with its own, and where the attempt stands."""

    events: tuple[tuple[int, Event], ...]
    state: State
    error: RouteError | None = None


class Store(Protocol):
    """Keeps attempts and their events. One namespace may be shared by several processes.

    Methods may raise whatever their driver raises; they are then tried again.
    """

    @property
    def instance(self) -> str:
        """Names what is remembered: another one means that attempts were forgotten."""
        ...

    @property
    def poll_s(self) -> float | None:
        """How often to look for what other processes did; None where there are none."""
        ...

    async def open(self) -> None:
        """Get ready, before anything else; a second time does nothing."""
        ...

    async def close(self) -> None:
        """Give back what is held."""
        ...

    async def admit(self, admission: Admission, *, most_open: int) -> Admitted:
        """Keep a new attempt unless `most_open` wait or run already."""
        ...

    async def claim(self, *, most_running: int, lease_s: float) -> Claim | None:
        """The next attempt to take in hand for `lease_s` seconds, None for none.

        At most `most_running` are played at once; those to be ended without playing come first.
        """
        ...

    async def renew(self, tokens: Mapping[str, str], *, lease_s: float) -> Mapping[str, Hold]:
        """Hold the claims on for `lease_s` more seconds; attempt ids to tokens. What stands for each."""
        ...

    async def append(self, claim: Claim, event: Event) -> None:
        """Keep an event. Raises `LeaseLost`."""
        ...

    async def finish(self, claim: Claim, event: Event | None, error: RouteError | None) -> None:
        """Keep the last event: done; or `error`: refused. Raises `LeaseLost`."""
        ...

    async def read(self, attempt_id: str, cursor: int, *, most: int, max_bytes: int) -> StoredEvents | None:
        """At most `most` events after `cursor`, one at least, of `max_bytes` together. None: unknown."""
        ...

    async def cancel(self, attempt_id: str) -> State | None:
        """Wish that it ended; where it stood. None: unknown."""
        ...

    async def forget(self, *, ended_s_ago: float) -> None:
        """Drop attempts that ended longer ago."""
        ...


def fitting(
    events: Iterable[tuple[int, Event, int]], most: int, max_bytes: int
) -> tuple[tuple[int, Event], ...]:
    """As many of the events (cursor, event, bytes) as fit; the first one in any case."""
    taken: list[tuple[int, Event]] = []
    size = 0
    for cursor, event, bytes_ in events:
        size += bytes_
        if taken and (len(taken) == most or size > max_bytes):
            break
        taken.append((cursor, event))
    return tuple(taken)
