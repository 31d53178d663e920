"""One claimed attempt: played, called off, or ended in the place of a process that is gone."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from parley.engine.script.attempt import play
from parley.engine.script.draft import AttemptDraft, AttemptPlan
from parley.engine.script.following import broken_off
from parley.engine.script.protocol import AttemptRequest, RouteError
from parley.engine.script.record import AttemptRecord, ErrorRecord, StepRecord
from parley.engine.script.work import Stopping
from parley.sdk.evals.clock import SystemClock
from parley.sdk.evals.remote.offer import Judges, Offer, Refusal
from parley.sdk.evals.remote.store import Claim, LeaseLost, Store
from parley.sdk.evals.remote.telling import StoreLost, Writer

PAGE_EVENTS: Final = 200
PAGE_BYTES: Final = 8_000_000
_LOG = logging.getLogger("parley.evals")


class Carrier:
    """Carries out claims; keeps the judges that they share."""

    def __init__(self, offer: Offer, store: Store) -> None:
        self._offer = offer
        self._store = store
        self._judges = Judges(offer)
        self._clock = SystemClock()

    async def close(self) -> None:
        """Give back what the judges hold."""
        await self._judges.close()

    async def carry_out(
        self, claim: Claim, stopping: Stopping, told: Callable[[], None], is_closing: Callable[[], bool]
    ) -> None:
        """Bring an attempt to its end and write it. `told` is called after every event.

        A stop while the app `is_closing` makes an error of it: nobody wished for a cancel.
        """
        writer = Writer(self._store, claim, stopping, told)
        try:
            await self._end(claim, stopping, writer, is_closing)
        except (LeaseLost, StoreLost):
            _LOG.warning("The attempt %s was lost to this process.", claim.attempt_id)
        finally:
            await writer.close()

    async def _end(
        self, claim: Claim, stopping: Stopping, writer: Writer, is_closing: Callable[[], bool]
    ) -> None:
        try:
            plan = self._offer.plan_of(AttemptRequest.of_wire(dict(claim.order)))
            if claim.duty == "lost":
                await self._end_lost(claim, plan, writer)
            elif claim.duty == "cancel":
                await writer.finish(self._not_begun(plan))
            else:
                judge = await self._judges.pinned(plan.judge)
                record = await play(plan, self._offer.around(judge, stopping), writer.hear)
                await writer.finish(_stopped(record) if is_closing() else record)
        except Refusal as refusal:
            await writer.refuse(refusal.error)
        except (LeaseLost, StoreLost):
            raise
        except Exception:
            _LOG.exception("The attempt %s could not be played.", claim.attempt_id)
            told = "The app could not play the attempt; its log says why."
            await writer.refuse(RouteError(code="host_failed", message=told))

    def _not_begun(self, plan: AttemptPlan) -> AttemptRecord:
        draft = AttemptDraft(plan=plan, started_at=self._clock.now_ms(), began_s=0.0, is_cancelled=True)
        return draft.record(0.0)

    async def _end_lost(self, claim: Claim, plan: AttemptPlan, writer: Writer) -> None:
        """Another process began it and is gone: never played again, and kept with what was observed."""
        told = "The process that played the attempt is gone."
        started_at, steps = await self._observed(claim)
        if started_at is None:
            await writer.refuse(RouteError(code="lease_lost", message=told))
            return
        error = ErrorRecord(phase="execute", code="lease_lost", message=told)
        await writer.finish(broken_off(plan, steps, error, started_at, self._clock.now_ms()))

    async def _observed(self, claim: Claim) -> tuple[int | None, list[StepRecord]]:
        started_at: int | None = None
        cursor = 0
        steps: list[StepRecord] = []
        while True:
            page = await self._store.read(claim.attempt_id, cursor, most=PAGE_EVENTS, max_bytes=PAGE_BYTES)
            if page is None or not page.events:
                return started_at, steps
            cursor = page.events[-1][0]
            for _, event in page.events:
                if event["type"] == "case-started":
                    started_at, steps = int(event["at"]), []
                if event["type"] == "step-completed":
                    steps.append(StepRecord.of_wire(event["step"]))


def _stopped(record: AttemptRecord) -> AttemptRecord:
    if record.status != "cancelled":
        return record
    error = ErrorRecord(phase="execute", code="app_stopped", message="The app was stopped meanwhile.")
    return record.model_copy(update={"status": "error", "errors": (*record.errors, error)})
