"""Stored rows as the engine's statistics, comparison and gate take them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from parley.engine.gate.baseline import Outline
from parley.engine.stats.graded import FrozenCase, Graded
from parley.engine.stats.results import CaseResult
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import Evaluation, EvaluationCase
from parley.server.evaluations.repository import CaseRepository, ResultRepository


async def results_of(session: Session, scope: AccountScope, evaluation_id: UUID) -> list[CaseResult]:
    """The results of an evaluation."""
    rows = await ResultRepository(session, scope).outlines([evaluation_id])
    return [_result(row) for row in rows]


async def graded_of(session: Session, scope: AccountScope, evaluations: Sequence[Evaluation]) -> list[Graded]:
    """Each of these evaluations with its cases and results, in this order."""
    ids = [evaluation.id for evaluation in evaluations]
    cases: dict[UUID, list[FrozenCase]] = defaultdict(list)
    results: dict[UUID, list[CaseResult]] = defaultdict(list)
    for case in await CaseRepository(session, scope).outlines(ids):
        cases[case.evaluation_id].append(_case(case))
    for row in await ResultRepository(session, scope).outlines(ids):
        results[row.evaluation_id].append(_result(row))
    return [_graded(each, cases[each.id], results[each.id]) for each in evaluations]


def outline_of(evaluation: Evaluation) -> Outline:
    """What decides whether an evaluation can be a baseline."""
    return Outline(
        evaluation_id=str(evaluation.id),
        subject=subject_of(evaluation),
        grading_hash=evaluation.grading_hash,
        split=evaluation.split,
        run_source=evaluation.run_source,
        is_regraded=evaluation.regrade_of is not None,
        completed_at=evaluation.completed_at,
        rated_count=evaluation.rated_count or 0,
    )


def subject_of(evaluation: Evaluation) -> str:
    """The id of the dataset or suite."""
    return str(evaluation.dataset_id or evaluation.suite_id)


def _graded(evaluation: Evaluation, cases: Sequence[FrozenCase], results: Sequence[CaseResult]) -> Graded:
    return Graded(
        evaluation_id=str(evaluation.id),
        subject=subject_of(evaluation),
        grading_hash=evaluation.grading_hash,
        split=evaluation.split,
        repetitions=evaluation.repetitions,
        expected_count=evaluation.expected_count,
        cases=tuple(cases),
        results=tuple(results),
    )


def _case(row: EvaluationCase) -> FrozenCase:
    return FrozenCase(
        case_id=row.case_id,
        index=row.index,
        name=row.name,
        content_hash=row.content_hash,
        grader_hash=row.grader_hash,
        target_hash=row.target_hash,
    )


def _result(row: Any) -> CaseResult:
    return CaseResult(
        case_id=row.case_id,
        repetition=row.repetition,
        status=row.status,
        rating=row.rating,
        passed=row.passed,
        duration_ms=row.duration_ms,
        cost_usd=row.cost,
    )
