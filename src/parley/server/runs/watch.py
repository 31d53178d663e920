"""The events of a persisted run: what has happened, then live, to the end."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from uuid import UUID

from parley.engine.events import Ended, Entry
from parley.server.conversation.narrate import Narrator, WireEvent
from parley.server.conversation.sse import PING, encoded
from parley.server.errors import DatabaseAway
from parley.server.journal.bus import BusMessage
from parley.server.journal.hub import Hub, Watch
from parley.server.journal.keep import Journal

POLL_S = 1.0
"""How often the journal is read while the live bus is away (product contract)."""
SILENCE_S = 5.0
"""After how much silence of a bus that lives the journal is read: the worker may not reach it."""

_PLACE = re.compile(r"(\d{1,9})(?::(\d{1,9}))?")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a watcher left: all entries up to `seq`, and `told` units of the next."""

    seq: int = 0
    told: int = 0

    @staticmethod
    def read(last_event_id: str | None) -> Place | None:
        """The place written in `Last-Event-ID`: the beginning without one, None if it is none of ours."""
        if not last_event_id:
            return Place()
        found = _PLACE.fullmatch(last_event_id.strip())
        if found is None:
            return None
        if found[2] is None:
            return Place(seq=int(found[1]))
        return Place(seq=max(int(found[1]) - 1, 0), told=int(found[2]))


class RunWatcher:
    """Tells one run to one watcher. Reads the journal first and in every gap of the live bus."""

    def __init__(
        self, journal: Journal, account_id: UUID, run_id: UUID, max_turns: int, place: Place, ping_s: float
    ) -> None:
        self._journal = journal
        self._account_id = account_id
        self._run_id = run_id
        self._place = place
        self._ping_s = ping_s
        self._narrator = Narrator(max_turns)
        if place.seq == 0:
            self._narrator.skip(place.told)
        self._expected = 0
        self._is_over = False
        self._waiting: list[WireEvent] = []

    async def batches(self, hub: Hub) -> AsyncGenerator[bytes, None]:
        """What to send, up to and including the terminal event.

        What is kept is told first, so that an ended run needs no bus, and a slow bus delays nothing.
        """
        is_over = await self._read_journal()
        if self._waiting:
            yield self._taken()
        if is_over:
            return
        async with hub.watch(self._run_id) as watch:
            await self._read_journal()
            while True:
                if self._waiting:
                    yield self._taken()
                if self._is_over:
                    return
                if not await self._listen(watch):
                    yield PING

    def _taken(self) -> bytes:
        told, self._waiting = self._waiting, []
        return b"".join(map(encoded, told))

    async def _listen(self, watch: Watch) -> bool:
        """Take what comes. False after a long silence."""
        waited_s = 0.0
        while waited_s < self._ping_s:
            step_s = SILENCE_S if watch.is_live else POLL_S
            messages = await watch.next(min(step_s, self._ping_s - waited_s))
            for message in messages:
                await self._take(message)
            if not messages or not watch.is_live:
                await self._read_journal()
                waited_s += step_s
            if self._waiting or self._is_over:
                return True
        return False

    async def _take(self, message: BusMessage) -> None:
        if message.seq <= self._narrator.seq or self._is_over:
            return
        if message.seq > self._narrator.seq + 1:
            await self._read_journal()
            if message.seq != self._narrator.seq + 1:
                return
        if message.entry is not None:
            self._tell(message.entry)
            return
        if self._narrator.seq < self._place.seq:
            return  # the watcher has these words; the entries lead to its place
        if message.number == 0:
            self._expected = 0
        if message.number != self._expected:
            return  # something was lost: the entry itself will tell all of it
        self._expected += 1
        for delta in message.deltas:
            self._hear(self._narrator.delta(delta, message.at_ms))

    async def _read_journal(self) -> bool:
        """Tell what was kept meanwhile. True if the end was among it."""
        try:
            entries = await self._journal.read(self._account_id, self._run_id, self._narrator.seq)
        except DatabaseAway:
            return False  # the stream stays open, and the next look tells what was missed
        for entry in entries:
            self._tell(entry)
        return self._is_over

    def _tell(self, entry: Entry) -> None:
        is_old = self._narrator.seq < self._place.seq
        events = self._narrator.entry(entry)
        self._expected = 0
        if not is_old:
            self._hear(events)
        if self._narrator.seq == self._place.seq:
            self._narrator.skip(self._place.told)
        self._is_over = isinstance(entry, Ended)

    def _hear(self, events: list[WireEvent]) -> None:
        self._waiting.extend(events)
