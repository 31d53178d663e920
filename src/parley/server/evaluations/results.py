"""Taking results: first write wins, between racing batches too, and nothing is dropped silently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import func

from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import Evaluation
from parley.server.errors import EvaluationClosed, NotFound
from parley.server.evaluations.new import NewResult, Score
from parley.server.evaluations.repository import CaseRepository, EvaluationRepository, ResultRepository


@dataclass(frozen=True, slots=True)
class Place:
    """A case and a repetition that a result is owed for."""

    case_id: str
    index: int
    repetition: int


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of a batch. `accepted` and `duplicates` in the order they were handed over.

    A duplicate carries the id of the result that was there before; `taken` are results whose case and
    repetition have one under another key.
    """

    accepted: tuple[NewResult, ...]
    duplicates: tuple[tuple[NewResult, UUID], ...]
    taken: tuple[NewResult, ...]


async def keep(session: Session, scope: AccountScope, evaluation_id: UUID, new: Sequence[NewResult]) -> Kept:
    """Take results of an evaluation's own cases. Raises `NotFound`, `EvaluationClosed`.

    The caller has checked that each case is one of the evaluation and each repetition within its bounds.
    Raises ValueError for a case of another evaluation.
    """
    evaluation = await take_hold(session, scope, evaluation_id)
    if evaluation.state != "in_progress":
        raise EvaluationClosed.in_state(evaluation.state)
    kinds = await CaseRepository(session, scope).kinds(evaluation_id, {result.case_id for result in new})
    strangers = [result.case_id for result in new if result.case_id not in kinds]
    if strangers:
        raise ValueError(f"not cases of this evaluation: {strangers[:3]}")
    results = ResultRepository(session, scope)
    rows = [_row(scope, evaluation, kinds, result) for result in new]
    inserted = await results.add_new(rows)
    keys = [result.key for result in new if result.key is not None and result.id not in inserted]
    before = await results.by_keys(evaluation_id, keys) if keys else {}
    evaluation.cost += sum(result.ended.cost_usd for result in new if result.ended and result.id in inserted)
    rest = [result for result in new if result.id not in inserted]
    known = [(result, before[result.key].id) for result in rest if result.key and result.key in before]
    return Kept(
        accepted=tuple(result for result in new if result.id in inserted),
        duplicates=tuple(known),
        taken=tuple(result for result in rest if not (result.key and result.key in before)),
    )


async def missing(session: Session, scope: AccountScope, evaluation: Evaluation) -> list[Place]:
    """Every case and repetition without a result, in the order of the cases."""
    there = await ResultRepository(session, scope).places(evaluation.id)
    cases = await CaseRepository(session, scope).outlines([evaluation.id])
    return [
        Place(case.case_id, case.index, repetition)
        for case in cases
        for repetition in range(1, (case.repetitions or evaluation.repetitions) + 1)
        if (case.case_id, repetition) not in there
    ]


async def take_hold(session: Session, scope: AccountScope, evaluation_id: UUID) -> Evaluation:
    """The evaluation as it is now, held to the end of the transaction. Raises `NotFound`."""
    found = await EvaluationRepository(session, scope).held(evaluation_id)
    if found is None:
        raise NotFound
    return found


def values_of(score: Score) -> dict[str, Any]:
    """The columns of a result that a score fills."""
    values: dict[str, Any] = {
        "status": score.status,
        "rating": score.rating,
        "passed": score.passed,
        "justification": score.justification,
        "checks": [dict(check) for check in score.checks],
        "error": dict(score.error) if score.error else None,
        "judgement": dict(score.judgement) if score.judgement else None,
    }
    if score.duration_ms is not None:
        values["duration_ms"] = score.duration_ms
    return values


def _row(
    scope: AccountScope, evaluation: Evaluation, kinds: Mapping[str, str], new: NewResult
) -> dict[str, Any]:
    ended = values_of(new.ended) | {"scored_at": func.now(), "cost": new.ended.cost_usd} if new.ended else {}
    empty: dict[str, Any] = dict.fromkeys(_COLUMNS_OF_SCORE)
    return {
        "account_id": scope.account_id,
        "id": new.id,
        "evaluation_id": evaluation.id,
        "case_id": new.case_id,
        "repetition": new.repetition,
        "kind": kinds[new.case_id],
        "transcript": dict(new.transcript) if new.transcript is not None else None,
        "idempotency_key": new.key,
        "batch_id": new.batch_id,
        "run_id": new.run_id,
        **empty,
        "status": "pending",
        "checks": [],
        "cost": 0,
        "duration_ms": new.duration_ms,
        **ended,
    }


_COLUMNS_OF_SCORE = ("rating", "passed", "justification", "error", "judgement", "scored_at")
"""All rows of one INSERT name the same columns."""
