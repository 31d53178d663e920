"""Looks at everything when it is over: rows, queue, streams, logs, and how the processes left."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import asyncpg
from arq.constants import in_progress_key_prefix

from parley.server.queue.jobs import queue_name
from tests.e2e.faults.load import Customers
from tests.e2e.faults.logs import trouble
from tests.e2e.faults.processes import LEAVES_WITHIN_S, PREFIX, Fleet
from tests.e2e.faults.promises import PROMISES, Promise
from tests.stage import Frame, is_terminal, told

_MOST_SHOWN: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One promise: its name, how many things were looked at, and what broke it."""

    name: str
    looked_at: int
    broken: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing broke it, and there was something to look at."""
        return not self.broken

    def __str__(self) -> str:
        shown = "".join(f"\n      {one}" for one in self.broken[:_MOST_SHOWN])
        more = len(self.broken) - _MOST_SHOWN
        rest = f"\n      and {more} more" if more > 0 else ""
        return f"  {'ok  ' if self.holds else 'FAIL'}  {self.name} ({self.looked_at}){shown}{rest}"


async def all_checks(fleet: Fleet, customers: Customers) -> AsyncIterator[Check]:
    """Everything that was promised."""
    connection = await asyncpg.connect(fleet.database_url, timeout=10)
    try:
        for promise in PROMISES:
            yield await _of_rows(connection, promise)
    finally:
        await connection.close()
    yield await _accepted_are_known(fleet, customers)
    for check in (_streams, _directs, _answers, _logs, _leavings):
        yield check(fleet, customers)
    yield await _queue(fleet)


async def _of_rows(connection: asyncpg.Connection[asyncpg.Record], promise: Promise) -> Check:
    looked_at = await connection.fetchval(promise.all)
    broken = [row[0] for row in await connection.fetch(promise.broken)]
    return Check(name=promise.name, looked_at=looked_at, broken=tuple(map(str, broken)))


async def _accepted_are_known(fleet: Fleet, customers: Customers) -> Check:
    connection = await asyncpg.connect(fleet.database_url, timeout=10)
    try:
        known = {row["id"] for row in await connection.fetch("SELECT id FROM runs")}
    finally:
        await connection.close()
    accepted = [run.id for run in customers.seen.runs]
    broken = [f"{run} is not there" for run in accepted if run not in known]
    if len(set(accepted)) != len(accepted):
        broken.append("two starts were answered with one run")
    return Check(name="every accepted run is there", looked_at=len(accepted), broken=tuple(broken))


def _streams(_: Fleet, customers: Customers) -> Check:
    """Over all its connections a watcher was told one terminal event, and nothing after it."""
    runs = customers.seen.runs
    broken = [f"{run.id}: {_ends(run.frames)}" for run in runs if not _ends_once(run.frames)]
    return Check(name="every live stream ended with one end", looked_at=len(runs), broken=tuple(broken))


def _directs(_: Fleet, customers: Customers) -> Check:
    """A stream whose connection held to the end has its end; no stream has anything after one."""
    broken = []
    for stream in customers.seen.directs:
        if stream.broke and not any(map(is_terminal, stream.frames)):
            continue
        if not _ends_once(stream.frames):
            broken.append(_ends(stream.frames))
    looked_at = len(customers.seen.directs)
    return Check(
        name="every direct stream that held ended with one end", looked_at=looked_at, broken=tuple(broken)
    )


def _ends_once(frames: Sequence[Frame]) -> bool:
    return [is_terminal(frame) for frame in frames] == [False] * (len(frames) - 1) + [True]


def _ends(frames: Sequence[Frame]) -> str:
    return (
        f"{sum(map(is_terminal, frames))} ends in {len(frames)} events, last {[f.type for f in frames[-2:]]}"
    )


async def stories(customers: Customers) -> Check:
    """What was told live, over all breaks, is what is told now. Asks the API."""
    broken = []
    for run in customers.seen.runs:
        again = await customers.replay(run)
        if told(run.frames) != told(again):
            broken.append(f"{run.id} over {run.connections} connections: {_difference(run.frames, again)}")
    looked_at = len(customers.seen.runs)
    return Check(name="live and replay tell one story", looked_at=looked_at, broken=tuple(broken))


def _difference(live: Sequence[Frame], again: Sequence[Frame]) -> str:
    one, other = told(live), told(again)
    place = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    ids = [frame.id for frame in live[-3:]]
    return f"{ids} at {place} {_short(one[place : place + 1])} against {_short(other[place : place + 1])}"


def _short(story: Iterable[Any]) -> str:
    return str(list(story))[:160]


def _answers(_: Fleet, customers: Customers) -> Check:
    seen = customers.seen
    return Check(
        name="every answer is one of the contract's", looked_at=seen.answers.total(), broken=tuple(seen.wrong)
    )


def _logs(fleet: Fleet, _: Customers) -> Check:
    """No process wrote of an error that no fault explains."""
    looked_at, broken = 0, []
    for name in fleet.children:
        for line in fleet.log(name).read_text(errors="replace").splitlines():
            looked_at += 1
            if (found := trouble(line, fleet.strikes)) is not None:
                broken.append(f"{name}: {found}")
    return Check(name="no process met what it did not expect", looked_at=looked_at, broken=tuple(broken))


def _leavings(fleet: Fleet, _: Customers) -> Check:
    """Who was asked to stop left in time with code 0, and nobody left unasked."""
    late = [
        f"{one.name} left after {one.took_s:.1f} s with code {one.code}"
        for one in fleet.leavings
        if one.code != 0 or one.took_s > LEAVES_WITHIN_S
    ]
    name = "who is asked to stop leaves in time, nobody leaves unasked"
    return Check(name=name, looked_at=len(fleet.leavings), broken=(*late, *fleet.unexpected))


async def _queue(fleet: Fleet) -> Check:
    """No job is left, and no key lives for ever.

    A job whose worker was killed after it had picked it comes again when its mark has run out (`PICKED_S`).
    """
    async with fleet.redis_client() as redis:
        keys = [key.decode() async for key in redis.scan_iter(count=1_000)]
        jobs = [job.decode() for job in await redis.zrange(queue_name(PREFIX), 0, -1)]
        broken = [f"{job} is left" for job in jobs if in_progress_key_prefix + job not in keys]
        broken += [
            f"{key} ({await redis.type(key)}) never expires"
            for key in keys
            if key != queue_name(PREFIX) and await redis.ttl(key) == -1
        ]
    return Check(
        name="no job is left, nothing stays in Redis for ever", looked_at=len(keys), broken=tuple(broken)
    )
