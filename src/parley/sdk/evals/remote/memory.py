"""Attempts in the memory of one process: gone with it, and never played twice because of that."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from uuid import uuid4

from parley.engine.script.protocol import RouteError, State
from parley.sdk.evals.remote.store import (
    Admission,
    Admitted,
    Claim,
    Duty,
    Event,
    Hold,
    LeaseLost,
    StoredEvents,
    fitting,
)


@dataclass(slots=True)
class _Kept:
    admission: Admission
    state: State = "queued"
    is_cancelled: bool = False
    token: str | None = None
    held_until_s: float = 0.0
    ended_at_s: float = 0.0
    events: list[tuple[Event, int]] = field(default_factory=list)
    error: RouteError | None = None


class MemoryStore:
    """For an app of one process. With several, or to outlive a restart, use `PostgresStore`."""

    poll_s = None

    def __init__(self, *, now_s: Callable[[], float] = time.monotonic) -> None:
        self.instance = uuid4().hex
        self._now_s = now_s
        self._kept: dict[str, _Kept] = {}

    async def open(self) -> None:
        """Nothing to do."""

    async def close(self) -> None:
        """Nothing to do."""

    async def admit(self, admission: Admission, *, most_open: int) -> Admitted:
        """As `Store.admit`."""
        known = self._kept.get(admission.attempt_id)
        if known:
            return "known" if known.admission.order == admission.order else "differs"
        if sum(one.state in ("queued", "running") for one in self._kept.values()) >= most_open:
            return "full"
        self._kept[admission.attempt_id] = _Kept(admission)
        return "admitted"

    async def claim(self, *, most_running: int, lease_s: float) -> Claim | None:
        """As `Store.claim`."""
        now_s = self._now_s()
        running = [one for one in self._kept.values() if one.state == "running"]
        for kept in running:
            if kept.held_until_s < now_s:
                return self._claimed(kept, "play" if kept.admission.replay_safe else "lost", lease_s)
        locks = {one.admission.lock for one in running} - {None}
        is_full = len(running) >= most_running
        for kept in self._kept.values():
            if kept.state != "queued":
                continue
            if kept.is_cancelled:
                return self._claimed(kept, "cancel", lease_s)
            if not is_full and kept.admission.lock not in locks:
                return self._claimed(kept, "play", lease_s)
        return None

    def _claimed(self, kept: _Kept, duty: Duty, lease_s: float) -> Claim:
        kept.state, kept.token, kept.held_until_s = "running", uuid4().hex, self._now_s() + lease_s
        admission = kept.admission
        return Claim(attempt_id=admission.attempt_id, token=kept.token, duty=duty, order=admission.order)

    async def renew(self, tokens: Mapping[str, str], *, lease_s: float) -> Mapping[str, Hold]:
        """As `Store.renew`."""
        return {attempt_id: self._renewed(attempt_id, token, lease_s) for attempt_id, token in tokens.items()}

    def _renewed(self, attempt_id: str, token: str, lease_s: float) -> Hold:
        kept = self._kept.get(attempt_id)
        if kept is None or kept.token != token:
            return "lost"
        kept.held_until_s = self._now_s() + lease_s
        return "cancelled" if kept.is_cancelled else "held"

    async def append(self, claim: Claim, event: Event) -> None:
        """As `Store.append`."""
        self._held(claim).events.append((event, len(json.dumps(event))))

    async def finish(self, claim: Claim, event: Event | None, error: RouteError | None) -> None:
        """As `Store.finish`."""
        kept = self._held(claim)
        if event is not None:
            kept.events.append((event, len(json.dumps(event))))
        ended: Literal["done", "refused"] = "refused" if error else "done"
        kept.state, kept.error, kept.token, kept.ended_at_s = ended, error, None, self._now_s()

    def _held(self, claim: Claim) -> _Kept:
        kept = self._kept.get(claim.attempt_id)
        if kept is None or kept.token != claim.token:
            raise LeaseLost
        return kept

    async def read(self, attempt_id: str, cursor: int, *, most: int, max_bytes: int) -> StoredEvents | None:
        """As `Store.read`."""
        kept = self._kept.get(attempt_id)
        if kept is None:
            return None
        later = ((number, *told) for number, told in enumerate(kept.events[cursor:], cursor + 1))
        return StoredEvents(events=fitting(later, most, max_bytes), state=kept.state, error=kept.error)

    async def cancel(self, attempt_id: str) -> State | None:
        """As `Store.cancel`."""
        kept = self._kept.get(attempt_id)
        if kept is None:
            return None
        kept.is_cancelled = True
        return kept.state

    async def forget(self, *, ended_s_ago: float) -> None:
        """As `Store.forget`."""
        before_s = self._now_s() - ended_s_ago
        over = [
            name
            for name, one in self._kept.items()
            if one.state in ("done", "refused") and one.ended_at_s < before_s
        ]
        for attempt_id in over:
            del self._kept[attempt_id]
