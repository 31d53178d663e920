"""An attempt and a step while they are being played."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from parley.engine.script.check import CheckRecord
from parley.engine.script.compaction import COMPACTION_VERSION
from parley.engine.script.faults import Phase
from parley.engine.script.observation import Observation
from parley.engine.script.record import (
    AttemptRecord,
    CriterionRecord,
    ErrorRecord,
    Input,
    JudgeIdentity,
    Provenance,
    StepRecord,
    StoredEvidence,
    Verification,
)
from parley.engine.script.rubric import RUBRIC_VERSION
from parley.engine.script.shapes import Case, Evidence, LiteralResume, Suite
from parley.engine.script.standing import attempt_status, step_status
from parley.engine.script.status import Status
from parley.engine.script.usage import total

_NO_REFERENCE: Any = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptPlan:
    """What is to be played. `evidence` is the effective policy, `revision` the suite's with it."""

    suite: Suite
    case: Case
    revision: str
    evidence: Evidence
    attempt_id: str
    session_id: str
    repetition: int = 1
    judge: JudgeIdentity | None = None
    provenance: Provenance = field(default_factory=Provenance)


@dataclass(slots=True, kw_only=True)
class StepDraft:
    """A step under way. Fields as in `StepRecord`."""

    index: int
    input: Input
    started_at: int
    resumed: LiteralResume | None = None
    latency_ms: int | None = None
    observation: Observation | None = None
    checks: tuple[CheckRecord, ...] = ()
    reference: Any = _NO_REFERENCE
    evidence: StoredEvidence | None = None
    criteria: tuple[CriterionRecord, ...] = ()

    def record(self, over: Status | None = None) -> StepRecord:
        """The step as it stands; `over` is what ended it from outside, if anything did."""
        kept = {} if self.reference is _NO_REFERENCE else {"reference": self.reference}
        return StepRecord(
            index=self.index,
            input=self.input,
            resumed=self.resumed,
            status=step_status(self.checks, self.criteria, over),
            started_at=self.started_at,
            latency_ms=self.latency_ms,
            observation=self.observation,
            checks=self.checks,
            evidence=self.evidence,
            criteria=self.criteria,
            **kept,
        )


@dataclass(slots=True, kw_only=True)
class AttemptDraft:
    """An attempt under way."""

    plan: AttemptPlan
    started_at: int
    began_s: float
    steps: list[StepRecord] = field(default_factory=list)
    errors: list[ErrorRecord] = field(default_factory=list)
    verification: Verification | None = None
    is_cancelled: bool = False
    durations_s: dict[Phase, float] = field(default_factory=dict)

    @property
    def status(self) -> Status:
        """The highest of what happened so far. Reporting errors change nothing."""
        return attempt_status(self.steps, self.errors, self.verification, is_cancelled=self.is_cancelled)

    def record(self, now_s: float) -> AttemptRecord:
        """The attempt as it stands at `now_s`."""
        plan = self.plan
        given = {"params": plan.case.params} if "params" in plan.case.model_fields_set else {}
        observed = [step.observation for step in self.steps if step.observation]
        judged = [one.usage for step in self.steps for one in step.criteria if one.calls]
        return AttemptRecord(
            attempt_id=plan.attempt_id,
            session_id=plan.session_id,
            suite_id=plan.suite.id,
            suite_revision=plan.revision,
            case_id=plan.case.id,
            repetition=plan.repetition,
            status=self.status,
            started_at=self.started_at,
            duration_ms=round((now_s - self.began_s) * 1000),
            phase_durations_ms={phase: round(spent * 1000) for phase, spent in self.durations_s.items()},
            steps=tuple(self.steps),
            steps_planned=len(plan.case.steps),
            verification=self.verification,
            errors=tuple(self.errors),
            judge=plan.judge,
            rubric_version=RUBRIC_VERSION,
            compaction_version=COMPACTION_VERSION,
            run_ids=tuple(dict.fromkeys(one.run_id for one in observed if one.run_id)),
            usage=total([one.usage for one in observed]),
            judge_usage=total(judged),
            commit=plan.provenance.commit,
            app_version=plan.provenance.app_version,
            **given,
        )
