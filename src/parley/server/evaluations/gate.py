"""The gate over stored ratings: which baseline, which verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from uuid import UUID

from parley.engine.gate.baseline import LOOK_BACK, Earlier, latest_passing, unfit_for
from parley.engine.gate.parameters import GateParameters, ParametersWrong, read_parameters
from parley.engine.gate.verdict import NO_BASELINE, GateAnswer, GateCheck, decide
from parley.engine.stats.graded import Graded
from parley.engine.stats.rounding import rounded, rounded_share
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import Evaluation
from parley.server.db.tables.evaluations import OPEN_STATES
from parley.server.errors import EvaluationNotCompleted, EvaluationOpen, InvalidRequest
from parley.server.evaluations.load import graded_of, outline_of
from parley.server.evaluations.repository import EvaluationRepository, GateRepository, PinRepository
from parley.server.evaluations.schemas import GateCheckReply, GateReply
from parley.server.kit.ids import parse_id

_UNKNOWN = "names no evaluation of this account; send latest, latest-passing, pinned or an id"
_PLACES = {"significance": 6, "pass-rate": 4, "coverage": 4}
"""Digits in which a check's figures are told; means have two."""


@dataclass(frozen=True, slots=True)
class Measure:
    """The baseline, or why there is none."""

    row: Evaluation | None
    why_none: str = NO_BASELINE


def parameters_of(
    given: Iterable[tuple[str, str]], *, default_coverage: Fraction | None = None
) -> GateParameters:
    """The parameters of a request. Raises `InvalidRequest` with every fault."""
    try:
        return read_parameters(given, default_coverage=default_coverage)
    except ParametersWrong as wrong:
        raise InvalidRequest.faults(wrong.faults) from None


async def answer(
    session: Session, scope: AccountScope, evaluation: Evaluation, parameters: GateParameters
) -> GateReply:
    """The gate's answer, from the ratings as they are stored now; nothing is recorded.

    Raises `EvaluationOpen`, `EvaluationNotCompleted`, and `InvalidRequest` for a baseline that will not do.
    """
    if evaluation.state in OPEN_STATES:
        raise EvaluationOpen.in_state(evaluation.state)
    if evaluation.state != "completed":
        raise EvaluationNotCompleted.in_state(evaluation.state)
    measure = await _measure(session, scope, evaluation, parameters)
    rows = [evaluation] if measure.row is None else [evaluation, measure.row]
    graded = await graded_of(session, scope, rows)
    before: Graded | None = graded[1] if len(graded) > 1 else None
    found = await asyncio.to_thread(decide, parameters, graded[0], before, measure.why_none)
    return _told(evaluation, parameters, found)


async def _measure(
    session: Session, scope: AccountScope, evaluation: Evaluation, parameters: GateParameters
) -> Measure:
    match parameters.baseline:
        case "latest":
            return await _latest(session, scope, evaluation)
        case "latest-passing":
            return await _latest_passing(session, scope, evaluation, parameters)
        case "pinned":
            return await _pinned(session, scope, evaluation)
        case named:
            return await _named(session, scope, evaluation, named)


async def _latest(session: Session, scope: AccountScope, evaluation: Evaluation) -> Measure:
    """The one that was fixed on completion, so that asking again gives the same."""
    if evaluation.baseline_id is None:
        return Measure(None)
    return Measure(await EvaluationRepository(session, scope).get(evaluation.baseline_id))


async def _latest_passing(
    session: Session, scope: AccountScope, evaluation: Evaluation, parameters: GateParameters
) -> Measure:
    newest = await EvaluationRepository(session, scope).newest_before(evaluation, LOOK_BACK)
    ids = [row.id for row in newest]
    records = await GateRepository(session, scope).newest_of(ids, evaluation.completed_at)
    verdicts = {row_id: record.verdict for row_id, record in records.items()}
    passed = next((at for at, row in enumerate(newest) if verdicts.get(row.id) == "passed"), len(newest))
    looked_at = list(reversed(newest[: passed + 1]))
    graded = await graded_of(session, scope, looked_at)
    earlier = [
        Earlier(each, verdicts.get(row.id))  # type: ignore[arg-type]  # the table knows these words alone
        for row, each in zip(looked_at, graded, strict=True)
    ]
    found = await asyncio.to_thread(latest_passing, parameters, earlier)
    if found is None:
        return Measure(None, "No earlier evaluation of this kind passed.")
    return Measure(next(row for row in looked_at if str(row.id) == found.evaluation_id))


async def _pinned(session: Session, scope: AccountScope, evaluation: Evaluation) -> Measure:
    pin = await PinRepository(session, scope).of_line(evaluation)
    if pin is None:
        return Measure(None, "Nothing is pinned for this dataset or suite, grading identity and split.")
    row = await EvaluationRepository(session, scope).get(pin.evaluation_id)
    reason = unfit_for(outline_of(row), outline_of(evaluation)) if row else "is gone"
    return Measure(row) if reason is None else Measure(None, f"The pinned evaluation {reason}.")


async def _named(session: Session, scope: AccountScope, evaluation: Evaluation, named: str) -> Measure:
    baseline_id = parse_id(named)
    row = await EvaluationRepository(session, scope).get(baseline_id) if baseline_id else None
    if row is None:
        raise InvalidRequest.field("baseline", _UNKNOWN)
    reason = unfit_for(outline_of(row), outline_of(evaluation))
    if reason is not None:
        raise InvalidRequest.field("baseline", f"cannot be used: it {reason}")
    return Measure(row)


def _told(evaluation: Evaluation, parameters: GateParameters, found: GateAnswer) -> GateReply:
    return GateReply(
        evaluation_id=evaluation.id,
        dataset_id=evaluation.dataset_id,
        suite_id=evaluation.suite_id,
        average_rating=None if found.average is None else rounded(found.average),
        result_count=found.counts.kept,
        rated_count=found.counts.rated,
        failed_count=found.counts.failed,
        skipped_count=found.counts.skipped,
        coverage=rounded_share(found.counts.coverage),
        baseline_id=UUID(found.baseline_id) if found.baseline_id else None,
        baseline_average=None if found.baseline_average is None else rounded(found.baseline_average),
        checks=[_check(check) for check in found.checks],
        passed=found.passed,
        verdict=found.verdict,
        first_run=found.first_run,
        baseline=parameters.baseline,
        note=found.note,
        recorded=False,
        gate_id=None,
    )


def _check(check: GateCheck) -> GateCheckReply:
    places = _PLACES.get(check.check, 2)
    is_measured = check.check in ("no-regression", "regressed-cases")
    return GateCheckReply(
        check=check.check,
        passed=check.passed,
        # A threshold that was asked for is told as it was written; the baseline's mean is a mean.
        threshold=None if check.threshold is None else rounded(check.threshold, 2 if is_measured else 18),
        actual=None if check.actual is None else rounded(check.actual, places),
        detail=check.detail,
    )
