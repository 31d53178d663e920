"""Regrading: stored transcripts judged again by another grader. New verdicts are linked, old ones stay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol
from uuid import UUID

from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import CaseResult, Evaluation
from parley.server.errors import NothingToRegrade
from parley.server.evaluations.begin import begin
from parley.server.evaluations.new import NewCase, NewEvaluation
from parley.server.evaluations.read import require
from parley.server.evaluations.repository import CaseRepository, ResultRepository
from parley.server.evaluations.schemas import Flip, Regrade
from parley.server.kit.ids import new_id


class Grader(Protocol):
    """What a producer lends, so that its results can be judged again."""

    def changed(self, grading: Mapping[str, Any], changes: Regrade) -> dict[str, Any]:
        """The grading with the changes. Raises `InvalidRequest` for a judge that there is not, and for
        changes that mean nothing to this kind of case."""
        ...

    async def announce(self, evaluation_id: UUID) -> None:
        """Wake the scorers, after the commit; without it they find the results at their next tick."""
        ...


class Graders:
    """The graders of this process, of datasets and of suites; without one nothing can be regraded."""

    def __init__(self, custom: Grader | None = None, conversations: Grader | None = None) -> None:
        self._custom = custom
        self._conversations = conversations

    def of(self, evaluation: Evaluation) -> Grader | None:
        """Who judges the results of this evaluation again."""
        return self._custom if evaluation.dataset_id else self._conversations


async def begin_regrade(
    session: Session, scope: AccountScope, graders: Graders, evaluation_id: UUID, changes: Regrade
) -> Evaluation:
    """A new evaluation over the transcripts of an old one, waiting for its scores (`scoring`).

    Results without a transcript come over as they were if the agent failed, else skipped. Raises
    `NotFound`, `NothingToRegrade`, `InvalidRequest`.
    """
    former = await require(session, scope, evaluation_id)
    results = ResultRepository(session, scope)
    rows = (await session.scalars(results.rows().where(CaseResult.evaluation_id == former.id))).all()
    grader = graders.of(former)
    if grader is None or former.ended_at is None or not any(map(_can_be_judged, rows)):
        raise NothingToRegrade
    row = await _begun(session, scope, former, grader.changed(former.grading, changes), changes)
    row.regrade_of, row.state = former.id, "scoring"
    await session.flush()
    await results.add_new([_copy(row.id, result) for result in rows])
    session.after_commit(lambda: grader.announce(row.id))
    return row


async def flips(session: Session, scope: AccountScope, evaluation_id: UUID) -> list[Flip]:
    """Verdicts of a regraded evaluation that differ from those before. Raises `NotFound`."""
    await require(session, scope, evaluation_id)
    pairs = await ResultRepository(session, scope).linked(evaluation_id)
    told = [
        Flip(
            case_id=now.case_id,
            repetition=now.repetition,
            was=_verdict(before),
            now=_verdict(now),
            rating_was=before.rating,
            rating_is=now.rating,
        )
        for now, before in pairs
        if now.scored_at is not None and _verdict(now) != _verdict(before)
    ]
    return sorted(told, key=lambda flip: (flip.case_id, flip.repetition))


async def _begun(
    session: Session, scope: AccountScope, former: Evaluation, grading: dict[str, Any], changes: Regrade
) -> Evaluation:
    cases = await CaseRepository(session, scope).of(former.id)
    new = NewEvaluation(
        id=new_id(),
        dataset_id=former.dataset_id,
        suite_id=former.suite_id,
        name=former.name,
        version=former.version,
        cases=[
            NewCase(
                case_id=case.case_id,
                index=case.index,
                kind=case.kind,  # type: ignore[arg-type]  # the table knows these words alone
                name=case.name,
                content=case.content,
                content_hash=case.content_hash,
                target_hash=case.target_hash,
                repetitions=case.repetitions,
            )
            for case in cases
        ],
        grading=grading,
        pass_rating=changes.pass_rating if changes.pass_rating is not None else former.pass_rating,
        split=former.split,
        repetitions=former.repetitions,
        run_source=former.run_source,
        commit=former.commit,
        branch=former.branch,
        pull_request=former.pull_request,
        options=former.options,
    )
    return await begin(session, scope, new)


def _can_be_judged(result: CaseResult) -> bool:
    """Whether there are words to judge: posted ones, or the run of a simulated case, which holds them."""
    words = {"custom": result.transcript, "simulated": result.run_id}.get(result.kind)
    return words is not None and result.status != "failed"


def _copy(evaluation_id: UUID, result: CaseResult) -> dict[str, Any]:
    copied = (
        "account_id", "case_id", "repetition", "kind", "transcript", "duration_ms", "run_id", "batch_id"
    )  # fmt: skip
    ended: dict[str, Any] = {
        "status": "pending",
        "rating": None,
        "passed": None,
        "error": None,
        "scored_at": None,
    }
    if result.status == "failed":
        kept = ("status", "rating", "passed", "error", "scored_at")
        ended = {name: getattr(result, name) for name in kept}
    elif not _can_be_judged(result):
        problem = {"type": "no_transcript", "message": "There is no transcript to judge again."}
        ended |= {"status": "skipped", "error": problem, "scored_at": result.scored_at}
    return {
        **{name: getattr(result, name) for name in copied},
        **ended,
        "id": new_id(),
        "evaluation_id": evaluation_id,
        "regraded_from": result.id,
    }


def _verdict(result: CaseResult) -> str:
    if result.passed is None:
        return result.status
    return "passed" if result.passed else "not passed"
