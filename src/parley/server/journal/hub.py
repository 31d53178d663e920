"""Reads the live bus for all watchers of this process over one Redis connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

from redis.asyncio import Redis
from redis.exceptions import RedisError

from parley.server.journal.bus import EXPIRE_S, FLUSH_S, BusMessage, read_message, stream_key

BLOCK_MS = 2_000
BATCH = 200
RETRY_S = 1.0
PROVE_S = 2.0
"""How often the hub writes: a Redis that can only be read brings nothing new, and says no word of it."""
BACKLOG = 2_000
"""Messages a slow watcher may be behind; beyond it, the journal is read instead."""

_log = logging.getLogger(__name__)


class Watch:
    """One watcher of one run: messages as they come, or silence."""

    def __init__(self) -> None:
        self._messages: list[BusMessage] = []
        self._arrived = asyncio.Event()
        self.is_live = True
        """False while the bus is away or this watcher fell behind: then the journal tells more."""

    def offer(self, message: BusMessage) -> None:
        """Called by the hub."""
        if len(self._messages) >= BACKLOG:
            self._messages.clear()
            self.is_live = False
        self._messages.append(message)
        self._arrived.set()

    def stirred(self) -> None:
        """Called by the hub when the bus went away or came back."""
        self._arrived.set()

    async def next(self, timeout_s: float) -> list[BusMessage]:
        """What has come since the last call, waiting at most `timeout_s`; empty after silence."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._arrived.wait()
        except TimeoutError:
            return []
        self._arrived.clear()
        messages, self._messages = self._messages, []
        return messages


class Hub:
    """The watchers of this process. Holds one connection, however many watch."""

    def __init__(self, blocking: Redis, redis: Redis, prefix: str) -> None:
        """`blocking` must allow commands longer than `BLOCK_MS`; `redis` is for the short ones."""
        self._blocking = blocking
        self._redis = redis
        self._prefix = prefix
        self._watches: dict[UUID, list[Watch]] = {}
        self._places: dict[UUID, bytes] = {}
        self._poke_key = f"{prefix}:hub:{uuid4()}"
        self._poke_place: bytes = b"0-0"
        self._is_live = True
        self._proved_at = 0.0

    @asynccontextmanager
    async def watch(self, run_id: UUID) -> AsyncIterator[Watch]:
        """Watch a run from as far back as the bus remembers."""
        watch = Watch()
        watch.is_live = self._is_live
        self._watches.setdefault(run_id, []).append(watch)
        self._places[run_id] = b"0-0"  # read again from the beginning: numbers tell what is old
        await self._poke()
        try:
            yield watch
        finally:
            self._watches[run_id].remove(watch)
            if not self._watches[run_id]:
                del self._watches[run_id], self._places[run_id]

    async def _poke(self) -> None:
        """End the blocking read, so that it begins again with the new watcher's stream."""
        try:
            async with self._redis.pipeline(transaction=False) as pipeline:
                pipeline.xadd(self._poke_key, {b"p": b""}, maxlen=10, approximate=True)
                pipeline.expire(self._poke_key, EXPIRE_S)
                await pipeline.execute()
        except (RedisError, OSError):
            self._set_live(False)

    async def run(self) -> None:
        """Read until cancelled."""
        while True:
            try:
                await self._read_once()
                await self._prove()
                self._set_live(True)
            except (RedisError, OSError) as error:
                if self._is_live:
                    _log.warning("live bus away: %s", type(error).__name__)
                self._set_live(False)
                await asyncio.sleep(RETRY_S)
            except Exception:
                # One message nobody can read must not end the streams of all others.
                _log.exception("live bus: a batch was dropped, watchers read the journal")
                await asyncio.sleep(RETRY_S)

    async def _prove(self) -> None:
        """Write something now and then. Raises `RedisError` if that is refused."""
        now = asyncio.get_running_loop().time()
        if self._is_live and now - self._proved_at < PROVE_S:
            return
        await self._redis.set(f"{self._poke_key}:proof", b"", ex=EXPIRE_S)
        self._proved_at = now

    async def _read_once(self) -> None:
        places: dict[str | bytes, bytes] = {self._poke_key: self._poke_place}
        runs = {stream_key(self._prefix, run_id).encode(): run_id for run_id in self._places}
        places.update({key: self._places[run_id] for key, run_id in runs.items()})
        block_ms = BLOCK_MS if self._is_live else 1  # to learn soon that the bus is back
        replies = await self._blocking.xread(places, count=BATCH, block=block_ms)  # type: ignore[arg-type]
        for key, messages in replies or ():
            run_id = runs.get(key)
            if run_id is None:
                self._poke_place = messages[-1][0]
            elif self._places.get(run_id) == places[key]:
                self._places[run_id] = messages[-1][0]
                self._offer(run_id, [raw for _, fields in messages for raw in fields.values()])
        if replies:
            await asyncio.sleep(FLUSH_S / 2)

    def _offer(self, run_id: UUID, raw: list[bytes]) -> None:
        for message in map(read_message, raw):
            for watch in self._watches.get(run_id, ()):
                watch.offer(message)

    def _set_live(self, live: bool) -> None:
        if live == self._is_live:
            return
        self._is_live = live
        for watches in self._watches.values():
            for watch in watches:
                watch.is_live = live
                watch.stirred()
