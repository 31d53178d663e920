"""A whole run that was played elsewhere, worked out again from its own snapshot of the suite."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from parley.engine.script.compaction import COMPACTION_VERSION
from parley.engine.script.draft import AttemptPlan
from parley.engine.script.recheck import inconsistencies, shown
from parley.engine.script.record import AttemptRecord, Provenance, RunRecord
from parley.engine.script.revision import effective_evidence, suite_revision
from parley.engine.script.rubric import RUBRIC_VERSION
from parley.engine.script.shapes import Case
from parley.engine.script.status import counts_of, highest

MOST_TOLD: Final = 100
"""Inconsistencies that are looked for; a run may have any number."""


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """What does not fit, and in which attempt; the attempt is None for the run itself."""

    attempt_id: str | None
    problem: str


def run_inconsistencies(run: RunRecord) -> list[Inconsistency]:
    """What in `run` cannot have come of playing its suite, the first `MOST_TOLD`; empty when it all fits.

    The suite has been read as a suite before. Verdicts are the judge's, and times the app's.
    """
    return list(islice(_inconsistencies(run), MOST_TOLD))


def _inconsistencies(run: RunRecord) -> Iterator[Inconsistency]:
    cases = {case.id: case for case in run.suite.cases}
    yield from (Inconsistency(None, problem) for problem in _whole(run))
    yield from (Inconsistency(None, problem) for problem in _places(run, cases))
    evidence = effective_evidence(run.suite)
    for attempt in run.attempts:
        if attempt.case_id not in cases:
            continue
        plan = AttemptPlan(
            suite=run.suite,
            case=cases[attempt.case_id],
            revision=run.suite_revision,
            evidence=evidence,
            attempt_id=attempt.attempt_id,
            session_id=attempt.session_id,
            repetition=attempt.repetition,
            judge=run.judge,
            provenance=Provenance(commit=run.commit, app_version=run.app_version),
        )
        yield from (Inconsistency(attempt.attempt_id, problem) for problem in _attempt(attempt, plan))


def _whole(run: RunRecord) -> Iterator[str]:
    statuses = [attempt.status for attempt in run.attempts]
    wanted = {
        "suite_id": run.suite.id,
        "suite_revision": suite_revision(run.suite),
        "status": highest(statuses),
        "counts": counts_of(statuses),
        "rubric_version": RUBRIC_VERSION,
        "compaction_version": COMPACTION_VERSION,
    }
    for name, value in wanted.items():
        if getattr(run, name) != value:
            yield f"{name} is {shown(getattr(run, name))} and should be {shown(value)}"


def _places(run: RunRecord, cases: dict[str, Case]) -> Iterator[str]:
    """Each case from its first repetition on without gaps, each attempt and session once."""
    of_case: dict[str, list[int]] = {}
    for attempt in run.attempts:
        of_case.setdefault(attempt.case_id, []).append(attempt.repetition)
    for case_id, repetitions in of_case.items():
        if case_id not in cases:
            yield f"the suite has no case {shown(case_id)}"
        elif sorted(repetitions) != list(range(1, len(repetitions) + 1)):
            yield f"the repetitions of case {shown(case_id)} are not 1 to {len(repetitions)}"
    for name in ("attempt_id", "session_id"):
        if len({getattr(attempt, name) for attempt in run.attempts}) < len(run.attempts):
            yield f"two attempts have one {name}"


def _attempt(attempt: AttemptRecord, plan: AttemptPlan) -> Iterator[str]:
    yield from inconsistencies(attempt, plan)
    if (attempt.commit, attempt.app_version) != (plan.provenance.commit, plan.provenance.app_version):
        yield "its commit or app version is not the run's"
