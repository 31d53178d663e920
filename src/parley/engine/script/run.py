"""A run of a suite: chosen cases, repeated, some at once, those with one lock never together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from parley.engine.script.attempt import Moment, Surroundings, play
from parley.engine.script.compaction import COMPACTION_VERSION
from parley.engine.script.draft import AttemptDraft, AttemptPlan
from parley.engine.script.faults import Phase
from parley.engine.script.ports import NewId
from parley.engine.script.progress import Listener, Progress, ProgressType, Teller
from parley.engine.script.record import AttemptRecord, JudgeIdentity, Provenance, RunRecord, StepRecord
from parley.engine.script.revision import effective_evidence, suite_revision
from parley.engine.script.rubric import RUBRIC_VERSION
from parley.engine.script.shapes import EVIDENCE_DEFAULTS, Case, Evidence, Suite
from parley.engine.script.status import counts_of, highest

DEFAULT_CONCURRENCY: Final = 4
"""Attempts at once: agents are mostly waited for, and few providers refuse four at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """What to run. `repetitions` None takes each case's own; `defaults` are the runner's evidence."""

    suite: Suite
    run_id: str
    cases: Sequence[Case]
    repetitions: int | None = None
    concurrency: int = DEFAULT_CONCURRENCY
    defaults: Evidence = EVIDENCE_DEFAULTS
    judge: JudgeIdentity | None = None
    provenance: Provenance = field(default_factory=Provenance)


async def run(
    plan: RunPlan, around: Surroundings, new_id: NewId, listener: Listener | None = None
) -> RunRecord:
    """Run all attempts of `plan`. Cancelling the caller's task stops, cleans up, and then raises.

    After a stop, attempts that had not begun are kept as cancelled, so that the set stays whole.
    """
    async with Teller(listener, close_s=around.limits.cleanup_s) as teller:
        record = await _Run(plan, around, new_id, teller).run()
    return record.model_copy(update={"errors": tuple(teller.errors)})


class _Run:
    def __init__(self, plan: RunPlan, around: Surroundings, new_id: NewId, teller: Teller) -> None:
        self._plan = plan
        self._around = around
        self._new_id = new_id
        self._teller = teller
        self._revision = suite_revision(plan.suite, plan.defaults)
        self._evidence = effective_evidence(plan.suite, plan.defaults)
        self._slots = asyncio.Semaphore(plan.concurrency)
        self._locks: dict[str, asyncio.Lock] = {}
        self._done: list[AttemptRecord] = []
        self._sequence = 0

    async def run(self) -> RunRecord:
        began_s, started_at = self._around.clock.monotonic_s(), self._around.clock.now_ms()
        self._tell("run-started")
        attempts = await self._played([asyncio.ensure_future(self._one(plan)) for plan in self._attempts()])
        self._tell("run-completed")
        plan = self._plan
        return RunRecord(
            run_id=plan.run_id,
            suite_id=plan.suite.id,
            suite_revision=self._revision,
            # With the policy that held, the snapshot alone gives its revision.
            suite=plan.suite.model_copy(update={"evidence": self._evidence}),
            status=highest(attempt.status for attempt in attempts),
            counts=counts_of(attempt.status for attempt in attempts),
            started_at=started_at,
            duration_ms=round((self._around.clock.monotonic_s() - began_s) * 1000),
            attempts=tuple(attempts),
            judge=plan.judge,
            rubric_version=RUBRIC_VERSION,
            compaction_version=COMPACTION_VERSION,
            commit=plan.provenance.commit,
            app_version=plan.provenance.app_version,
        )

    def _attempts(self) -> list[AttemptPlan]:
        plan = self._plan
        return [
            AttemptPlan(
                suite=plan.suite,
                case=case,
                revision=self._revision,
                evidence=self._evidence,
                attempt_id=self._new_id(),
                session_id=self._new_id(),
                repetition=repetition,
                judge=plan.judge,
                provenance=plan.provenance,
            )
            for case in plan.cases
            for repetition in range(1, (plan.repetitions or case.repetitions) + 1)
        ]

    async def _played(self, tasks: list[asyncio.Future[AttemptRecord]]) -> list[AttemptRecord]:
        if not tasks:
            return []
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            self._around.stopping.request()
            await asyncio.wait(tasks)
            raise
        finally:
            for task in tasks:
                task.cancel()  # none is left but after a second cancellation, which waits for nothing
        return [task.result() for task in tasks]

    async def _one(self, plan: AttemptPlan) -> AttemptRecord:
        name = plan.case.lock
        if name is None:
            return await self._in_slot(plan)
        # The lock comes first: a case that waits for it must not keep a slot from the others.
        async with self._locks.setdefault(name, asyncio.Lock()):
            return await self._in_slot(plan)

    async def _in_slot(self, plan: AttemptPlan) -> AttemptRecord:
        async with self._slots:
            if self._around.stopping.requested:
                return self._not_begun(plan)
            return await play(plan, self._around, self._hear)

    def _not_begun(self, plan: AttemptPlan) -> AttemptRecord:
        clock = self._around.clock
        now_s = clock.monotonic_s()
        draft = AttemptDraft(plan=plan, started_at=clock.now_ms(), began_s=now_s, is_cancelled=True)
        record = draft.record(now_s)
        self._hear("case-completed", record, None, None)
        return record

    def _hear(
        self, moment: Moment, record: AttemptRecord, phase: Phase | None, step: StepRecord | None
    ) -> None:
        if moment == "case-completed":
            self._done.append(record)
        self._tell(moment, record, phase, step)

    def _tell(
        self,
        kind: ProgressType,
        record: AttemptRecord | None = None,
        phase: Phase | None = None,
        step: StepRecord | None = None,
    ) -> None:
        self._sequence += 1
        self._teller.tell(
            Progress(
                type=kind,
                sequence=self._sequence,
                at=self._around.clock.now_ms(),
                run_id=self._plan.run_id,
                counts=counts_of(attempt.status for attempt in self._done),
                phase=phase,
                attempt=record,
                step=step,
            )
        )
