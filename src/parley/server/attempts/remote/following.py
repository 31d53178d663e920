"""Follows an admitted attempt by its cursor, and takes nothing in that cannot be."""

from __future__ import annotations

import asyncio
from typing import Final

from parley.engine.ports import Clock
from parley.engine.script.attempt import Tell
from parley.engine.script.following import Followed, Misbehaved
from parley.engine.script.protocol import MAX_EVENT_BYTES, EventPage, State
from parley.engine.script.record import AttemptRecord, StepRecord
from parley.engine.script.work import Overdue, Stopped, bounded
from parley.server.apps.faults import AppAway, AppRefused
from parley.server.attempts.playing import Playing
from parley.server.attempts.remote.talking import GaveUp, Talk

MAX_EVENTS: Final = 5_000
"""Of one attempt: 100 steps have some 500."""
MAX_HEARD_BYTES: Final = 4 * MAX_EVENT_BYTES
"""Of one attempt in one process: its steps one by one, its record, and room for what is read twice."""
BETWEEN_S: Final = 0.1
"""From one page with events to the next look: they come in handfuls, and each page is a write."""
LONGEST_CALL_S: Final = 120.0
GRACE_S: Final = 2.0


class Following:
    """One attempt, from its admission to its record."""

    def __init__(self, talk: Talk, attempt: Playing, followed: Followed, tell: Tell, clock: Clock) -> None:
        self._talk = talk
        self._attempt = attempt
        self._followed = followed
        self._tell = tell
        self._clock = clock
        self._heard_bytes = 0
        self._kept: tuple[int | None, tuple[StepRecord, ...]] | None = None
        self._since_s: dict[State, float] = {}
        self._ends_by_s: float | None = None

    async def to_its_end(self) -> AttemptRecord:
        """The record, found right. Raises `GaveUp`, `AppFault`, `Misbehaved`, `LeaseLost`."""
        try:
            while True:
                if self._talk.is_cancelled and self._ends_by_s is None:
                    await self._cancel()
                page = await self._page()
                if page is None:
                    continue
                record = await self._take(page)
                if record is not None:
                    return record
                self._refuse_overlong(page.state)
        except AppRefused as refused:
            if refused.code != "attempt_unknown":
                raise
            told = "The app does not know the attempt any more: it was restarted without a store that lasts."
            raise GaveUp("app_lost", told) from None

    async def _cancel(self) -> None:
        self._ends_by_s = self._talk.now_s() + self._talk.rules.cancel_s
        attempt_id = self._followed.plan.attempt_id
        await self._talk.persistently(lambda: self._talk.client.cancel(attempt_id), away="reconnecting")

    async def _page(self) -> EventPage | None:
        """The next page; None where the wish to end came first."""
        began_s = self._talk.now_s()
        try:
            page, size = await self._talk.persistently(
                self._look, away="reconnecting", gives_up=lambda: self._is_told_to_end
            )
        except Stopped:
            return None
        except AppAway:
            return None
        self._heard_bytes += size
        if self._heard_bytes > MAX_HEARD_BYTES:
            raise Misbehaved(f"it told more than {MAX_HEARD_BYTES:,} bytes")
        if page.state in ("queued", "running"):
            breath_s = BETWEEN_S if page.events else self._talk.rules.breath_s
            await self._talk.rest(max(0.0, breath_s - (self._talk.now_s() - began_s)))
        return page

    @property
    def _is_told_to_end(self) -> bool:
        """Whether a wish to end has not reached the app yet."""
        return self._talk.is_cancelled and self._ends_by_s is None

    async def _look(self) -> tuple[EventPage, int]:
        followed, wait_s = self._followed, self._talk.rules.wait_s
        try:
            return await bounded(
                lambda: self._talk.client.events(followed.plan.attempt_id, followed.cursor, wait_s),
                LONGEST_CALL_S,
                grace_s=GRACE_S,
                stopping=self._attempt.stopping if self._ends_by_s is None else None,
            )
        except Overdue:
            raise AppAway("app_unreachable", "The app did not answer in time.") from None

    async def _take(self, page: EventPage) -> AttemptRecord | None:
        """The record, if the page had it."""
        followed = self._followed
        # Checks are worked out again here, which for a large record takes a while.
        await asyncio.to_thread(_take_all, followed, page)
        if followed.record is not None:
            return followed.record.public()
        if page.events:
            await self._keep()
            self._talk.heard()
        elif page.state == "refused":
            error = page.error
            told = f"{error.message} ({error.code})" if error else "It does not say why."
            raise GaveUp("app_refused", f"The app refused the attempt: {told}")
        elif page.state == "done":
            raise Misbehaved("it is done and gave no record")
        return None

    async def _keep(self) -> None:
        """Keep what was heard. The record may have megabytes and is written again only with a new step."""
        followed = self._followed
        so_far = followed.so_far(self._clock.now_ms())
        self._tell("case-progress", so_far, None, None)
        content = (followed.started_at, so_far.steps)
        is_new = content != self._kept
        await self._attempt.keep(so_far if is_new else None, cursor=followed.cursor, was_heard=True)
        self._kept = content

    def _refuse_overlong(self, state: State) -> None:
        now_s, rules = self._talk.now_s(), self._talk.rules
        since_s = self._since_s.setdefault(state, now_s)
        if self._ends_by_s is not None and now_s > self._ends_by_s:
            told = f"It was cancelled, and the app did not end it within {rules.cancel_s:g} seconds."
            raise GaveUp("app_lost", told)
        most_s = rules.full_s if state == "queued" else rules.attempt_s
        if now_s - since_s > most_s:
            told = f"The attempt was {state} in the app for more than {most_s:g} seconds."
            raise GaveUp("overdue_in_service", told)


def _take_all(followed: Followed, page: EventPage) -> None:
    for told in page.events:
        if told.cursor > MAX_EVENTS:
            raise Misbehaved(f"it told more than {MAX_EVENTS:,} events")
        followed.take(told)
