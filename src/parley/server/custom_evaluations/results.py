"""Results: read one by one, stored at once, waited for without a connection."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from pydantic import ValidationError

from parley.engine.blank import is_blank
from parley.server.custom_evaluations import runs
from parley.server.custom_evaluations.answers import BatchReply, FinalizeReply, RefusedResult, ScoredResult
from parley.server.custom_evaluations.lenient import ignored, written
from parley.server.custom_evaluations.repository import CaseIndexRepository
from parley.server.custom_evaluations.result_schemas import BatchIn, ResultIn
from parley.server.db.database import Database
from parley.server.db.repository import AccountScope
from parley.server.db.tables import Evaluation
from parley.server.errors import EvaluationNotCompleted
from parley.server.evaluations import finish, read
from parley.server.evaluations.live import LiveStatistics
from parley.server.evaluations.new import NewResult, Score, failed
from parley.server.evaluations.results import Kept, keep
from parley.server.kit.faults import invalid_request
from parley.server.kit.ids import new_id
from parley.server.queue.pokes import Poke

_MAX_INDEX: Final = 2**31 - 1
"""What the column holds."""
FIRST_LOOK_S: Final = 0.1
LONGEST_LOOK_S: Final = 1.0
"""Between two looks at scores that are waited for: often at first, when a quick judge would be done."""


@dataclass(slots=True)
class _Sent:
    """A batch by itself, before anything is known of its run: results by their place, and faulty ones."""

    ignored: list[str]
    results: dict[int, ResultIn] = field(default_factory=dict)
    refused: list[RefusedResult] = field(default_factory=list)

    @property
    def case_ids(self) -> set[str]:
        """Cases that are named by their id."""
        return {result.case_id for result in self.results.values() if result.case_id is not None}

    @property
    def indexes(self) -> set[int]:
        """Cases that are named by their index, as far as there may be one."""
        named = (result.question_index for result in self.results.values())
        return {index for index in named if index is not None and index <= _MAX_INDEX}


@dataclass(frozen=True, slots=True)
class _Read:
    """A batch as it was read: results to keep, and those that cannot be."""

    new: list[NewResult]
    places: Mapping[UUID, int]
    refused: list[RefusedResult]
    ignored: list[str]


async def post(
    database: Database,
    scope: AccountScope,
    poke: Poke,
    live: LiveStatistics,
    run_id: UUID,
    body: BatchIn,
    wait_s: float,
) -> BatchReply:
    """Keep a batch and wait up to `wait_s` for its scores. Raises `NotFound`, `EvaluationClosed`."""
    sent = _sent(body)
    async with database.session() as session:
        row = await runs.require(session, scope, run_id)
        cases = await CaseIndexRepository(session, scope).by_index(run_id, sent.case_ids, sent.indexes)
        found = _placed_all(sent, row, cases, body.batch_id)
    async with database.session() as session:
        kept = await keep(session, scope, run_id, found.new)
        if any(result.ended is None for result in kept.accepted):
            session.after_commit(poke.give)
    keys = _keys(kept)
    await _scored(database, scope, run_id, keys, wait_s)
    async with database.session() as session:
        lines = await read.scored(session, scope, run_id, list(keys))
        statistics = await live.of(session, scope, await runs.require(session, scope, run_id))
    return BatchReply(
        run_id=run_id,
        batch_id=body.batch_id,
        accepted=len(kept.accepted),
        duplicates=len(kept.duplicates),
        failed_validation=sorted([*found.refused, *_taken(kept, found.places)], key=lambda each: each.index),
        scored_results=[_line(line, keys[line.id]) for line in lines],
        live_statistics=runs.statistics_told(statistics),
        ignored_fields=found.ignored,
    )


async def finalize(
    database: Database, scope: AccountScope, run_id: UUID, wait_s: float, ignored_fields: list[str]
) -> FinalizeReply:
    """No more results come; wait up to `wait_s` for open scores. Repeatable. Raises `NotFound`.

    Raises `EvaluationNotCompleted` for a run that failed, expired or was cancelled: it never completes.
    """
    async with database.session() as session:
        await runs.require(session, scope, run_id)
        row = await finish.finalize(session, scope, run_id)
    for pause_s in _pauses(wait_s):
        if row.state != "scoring":
            break
        await asyncio.sleep(pause_s)
        async with database.session() as session:
            row = await runs.require(session, scope, run_id)
    if row.state not in ("completed", "scoring"):
        raise EvaluationNotCompleted.in_state(row.state)
    async with database.session() as session:
        return FinalizeReply(
            run_id=run_id,
            status=row.state,
            live_statistics=runs.statistics_told(await read.live_statistics(session, scope, row)),
            missing_cases=await runs.owed(session, scope, row),
            ignored_fields=ignored_fields,
        )


async def _scored(
    database: Database, scope: AccountScope, run_id: UUID, keys: Mapping[UUID, str | None], wait_s: float
) -> None:
    """Return once all of these results are scored, or the wait is over."""
    for pause_s in _pauses(wait_s):
        async with database.session() as session:
            if await read.count_open(session, scope, run_id, keys.keys()) == 0:
                return
        await asyncio.sleep(pause_s)


def _pauses(wait_s: float) -> Any:
    """Ever longer pauses that are `wait_s` seconds together, by the clock of this process."""
    until, pause_s = time.monotonic() + wait_s, FIRST_LOOK_S
    while (left_s := until - time.monotonic()) > 0:
        yield min(pause_s, left_s)
        pause_s = min(pause_s * 1.5, LONGEST_LOOK_S)


def _sent(body: BatchIn) -> _Sent:
    sent = _Sent(ignored=ignored(body))
    for index, plain in enumerate(body.results):
        try:
            sent.results[index] = ResultIn.model_validate(plain)
        except ValidationError as fault:
            sent.refused.append(_refused(index, plain, _problems(fault, plain)))
        else:
            sent.ignored += ignored(sent.results[index], f"results.{index}")
    return sent


def _placed_all(sent: _Sent, row: Evaluation, cases: Mapping[int, str], batch_id: str | None) -> _Read:
    new: list[NewResult] = []
    places: dict[UUID, int] = {}
    refused = list(sent.refused)
    for index, result in sent.results.items():
        case_id, problems = _placed(result, row, cases)
        if problems or case_id is None:
            refused.append(
                RefusedResult(index=index, idempotency_key=result.idempotency_key, problems=problems)
            )
            continue
        new.append(_new(result, case_id, batch_id))
        places[new[-1].id] = index
    return _Read(new, places, refused, sent.ignored)


def _problems(fault: ValidationError, plain: Any) -> list[dict[str, str]]:
    found: list[dict[str, str]] = invalid_request(fault.errors(), plain, ResultIn).details
    return found


def _placed(
    result: ResultIn, row: Evaluation, cases: Mapping[int, str]
) -> tuple[str | None, list[dict[str, str]]]:
    """The case that a result is of, and what is wrong with the place it names."""
    case_id = result.case_id
    if result.question_index is not None:
        at_index = cases.get(result.question_index)
        if at_index is None:
            return None, [_problem("questionIndex", "is no case of this run")]
        if case_id is not None and case_id != at_index:
            return None, [_problem("questionIndex", "names another case than caseId")]
        case_id = at_index
    elif case_id not in cases.values():
        return None, [_problem("caseId", "is no case of this run")]
    if result.run_number > row.repetitions:
        return None, [
            _problem("runNumber", f"must be at most {row.repetitions}, as often as the run repeats")
        ]
    return case_id, []


def _new(result: ResultIn, case_id: str, batch_id: str | None) -> NewResult:
    transcript = written(result)
    for name in ("idempotencyKey", "caseId", "questionIndex", "runNumber"):
        transcript.pop(name, None)
    return NewResult(
        id=new_id(),
        case_id=case_id,
        repetition=result.run_number,
        key=result.idempotency_key,
        batch_id=batch_id,
        transcript=transcript,
        duration_ms=result.timings.duration_ms if result.timings else None,
        ended=_failure(result),
    )


def _failure(result: ResultIn) -> Score | None:
    """The score of an agent that failed by itself, which needs no judge."""
    if result.error is not None:
        return failed(result.error.type, result.error.message)
    if result.output is None or is_blank(result.output.text):
        return failed("empty_output", "The agent's output was empty.")
    return None


def _keys(kept: Kept) -> dict[UUID, str | None]:
    """The results of a batch, those that were there before too, with the keys they were sent under."""
    known = {result_id: result.key for result, result_id in kept.duplicates}
    return known | {result.id: result.key for result in kept.accepted}


def _taken(kept: Kept, places: Mapping[UUID, int]) -> list[RefusedResult]:
    problem = _problem("runNumber", "has a result already, under another idempotencyKey")
    return [
        RefusedResult(index=places[result.id], idempotency_key=result.key, problems=[problem])
        for result in kept.taken
    ]


def _refused(index: int, plain: Any, problems: Sequence[dict[str, str]]) -> RefusedResult:
    key = plain.get("idempotencyKey") if isinstance(plain, dict) else None
    return RefusedResult(
        index=index, idempotency_key=key if isinstance(key, str) else None, problems=list(problems)
    )


def _problem(field: str, problem: str) -> dict[str, str]:
    return {"field": field, "problem": problem}


def _line(line: Any, key: str | None) -> ScoredResult:
    return ScoredResult(
        idempotency_key=key,
        case_id=line.case_id,
        run_number=line.repetition,
        status=line.status,
        rating=line.rating,
        passed=line.passed,
        justification=line.justification or (line.error or {}).get("message"),
    )
