"""What is kept of an attempt and of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Literal, TypeAlias

from pydantic import StringConstraints

from parley.engine.script.check import CheckRecord
from parley.engine.script.faults import Phase
from parley.engine.script.observation import Observation, Usage
from parley.engine.script.shapes import Evidence, LiteralResume, Resume, Suite
from parley.engine.script.status import Counts, Status
from parley.engine.script.wire import Json, Many, Millis, Wire

SCHEMA_VERSION: Final = 1
UNKNOWN: Final = "unknown"
"""Stands, loudly, where nobody said which commit or version was tested."""
Location: TypeAlias = Literal["app", "service"]
RecordId: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=256)]
"""Of a run, an attempt or a session; runs are found by it, and an index holds no more."""


class JudgeIdentity(Wire):
    """Which judge it is: two with the same id and hash judge the same."""

    id: str
    version_hash: str
    location: Location


class ErrorRecord(Wire):
    """What went wrong, and where. `private` is for the owner's eyes alone."""

    payloads: ClassVar[frozenset[str]] = frozenset({"details"})

    phase: Phase
    code: str
    message: str
    step_index: int | None = None
    criterion_id: str | None = None
    details: Json = None
    causes: Many[Cause] = ()
    diagnostic_id: str | None = None
    private: str | None = None


class Cause(Wire):
    """A safe failure behind a safe failure."""

    payloads: ClassVar[frozenset[str]] = frozenset({"details"})

    code: str
    message: str
    details: Json = None


class Quote(Wire):
    """What a judge quoted, and whether it was ever said."""

    text: str
    found: bool


class CriterionRecord(Wire):
    """How one criterion came out."""

    id: str
    text: str
    status: Literal["passed", "failed", "inconclusive", "ungraded", "error"]
    reason: str = ""
    quotes: Many[Quote] = ()
    calls: int = 0
    duration_ms: Millis = 0
    usage: Usage | None = None


class StoredEvidence(Wire):
    """What the judge saw of a step, with all that it takes to select it again."""

    compaction_version: str
    selection: Evidence
    history: bool
    observation: Observation


class Input(Wire):
    """What a step says to the agent, as it was written."""

    message: str | None = None
    resume: Resume | None = None


class StepRecord(Wire):
    """How one step went. `resumed` is what a responder answered."""

    payloads: ClassVar[frozenset[str]] = frozenset({"reference"})

    index: int
    input: Input
    resumed: LiteralResume | None = None
    status: Status
    started_at: Millis
    latency_ms: Millis | None = None
    observation: Observation | None = None
    checks: Many[CheckRecord] = ()
    reference: Json = None
    evidence: StoredEvidence | None = None
    criteria: Many[CriterionRecord] = ()


class Verification(Wire):
    """What the app itself found after the conversation."""

    payloads: ClassVar[frozenset[str]] = frozenset({"evidence"})

    passed: bool
    reason: str
    evidence: Json = None


class Provenance(Wire):
    """What was tested."""

    commit: str = UNKNOWN
    app_version: str = UNKNOWN


class AttemptRecord(Wire):
    """One attempt at one case. Times are epoch milliseconds and milliseconds."""

    payloads: ClassVar[frozenset[str]] = frozenset({"params"})

    schema_version: Literal[1] = SCHEMA_VERSION
    attempt_id: RecordId
    session_id: RecordId
    suite_id: str
    suite_revision: str
    case_id: str
    repetition: int
    params: Json = None
    status: Status
    started_at: Millis
    duration_ms: Millis
    phase_durations_ms: Mapping[str, int]
    steps: Many[StepRecord]
    steps_planned: int
    verification: Verification | None = None
    errors: Many[ErrorRecord] = ()
    judge: JudgeIdentity | None = None
    rubric_version: str
    compaction_version: str
    run_ids: Many[str] = ()
    usage: Usage | None = None
    judge_usage: Usage | None = None
    commit: str = UNKNOWN
    app_version: str = UNKNOWN

    def public(self) -> AttemptRecord:
        """The record without what is private to its owner."""
        return self.model_copy(update={"errors": tuple(map(without_private, self.errors))})


class RunRecord(Wire):
    """One run of a suite: its attempts, in the order of cases and repetitions."""

    schema_version: Literal[1] = SCHEMA_VERSION
    run_id: RecordId
    suite_id: str
    suite_revision: str
    suite: Suite
    status: Status
    counts: Counts
    started_at: Millis
    duration_ms: Millis
    attempts: Many[AttemptRecord]
    errors: Many[ErrorRecord] = ()
    judge: JudgeIdentity | None = None
    rubric_version: str
    compaction_version: str
    commit: str = UNKNOWN
    app_version: str = UNKNOWN

    def public(self) -> RunRecord:
        """The record without what is private to its owner."""
        return self.model_copy(
            update={
                "attempts": tuple(attempt.public() for attempt in self.attempts),
                "errors": tuple(map(without_private, self.errors)),
            }
        )


def without_private(error: ErrorRecord) -> ErrorRecord:
    """`error` as others may see it."""
    return error.model_copy(update={"private": None})
