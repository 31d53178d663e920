"""`/api/v1/evals`: the service as judge of attempts that are played elsewhere."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Query, Request
from fastapi.responses import JSONResponse
from pydantic import ValidationError

from parley.engine.script.grading import MAX_EVIDENCE_CHARS
from parley.engine.script.reading import problems_of
from parley.engine.script.rubric import RUBRIC_VERSION, GradeRequest
from parley.server.accounts.authenticator import Caller
from parley.server.accounts.callers import requires
from parley.server.errors import (
    AccountSuspended,
    BalanceExhausted,
    EvidenceTooLarge,
    GradesLimited,
    IdempotencyConflict,
    InvalidRequest,
    JudgeFailed,
    JudgeMismatch,
    LlmsNotConfigured,
    PublicKeyRefused,
    ScopeMissing,
)
from parley.server.idempotency.service import IdempotencyKeyDep
from parley.server.kit.docs import answers_with
from parley.server.kit.ids import new_id
from parley.server.kit.provide import provided
from parley.server.kit.requests import room_router
from parley.server.llm.profiles import PROFILE_NAMES, ProfileName
from parley.server.script_judge.grades import Asked, Grades
from parley.server.script_judge.judge import DEFAULT_PROFILE, ScriptJudges, Seat
from parley.server.script_judge.schemas import GradeIn, GradeReply, JudgeReply

router = room_router("/evals", "scripted suites")

Judging = Annotated[Caller, requires("judge")]
JudgesDep = Annotated[ScriptJudges, provided(ScriptJudges)]
_CLOSED: Final = (PublicKeyRefused, ScopeMissing, AccountSuspended)


@router.get("/judge", summary="Who judges", responses=answers_with(LlmsNotConfigured, *_CLOSED))
async def show_judge(
    _: Judging,
    judges: JudgesDep,
    profile: Annotated[ProfileName, Query(description="Whose judge.")] = DEFAULT_PROFILE,
) -> JudgeReply:
    """The judge that `POST /evals/grades` asks: pin it by id and version hash."""
    identity = judges.seat(profile).identity
    return JudgeReply(
        id=identity.id,
        version_hash=identity.version_hash,
        rubric_version=RUBRIC_VERSION,
        profile=profile,
        max_evidence_chars=MAX_EVIDENCE_CHARS,
    )


@router.post(
    "/grades",
    summary="Judge one criterion of one step",
    response_model=GradeReply,
    responses=answers_with(
        InvalidRequest,
        JudgeMismatch,
        EvidenceTooLarge,
        GradesLimited,
        BalanceExhausted,
        IdempotencyConflict,
        LlmsNotConfigured,
        JudgeFailed,
        *_CLOSED,
    ),
)
async def grade(
    request: Request,
    caller: Judging,
    judges: JudgesDep,
    grades: Annotated[Grades, provided(Grades)],
    key: IdempotencyKeyDep,
    body: GradeIn,
) -> JSONResponse:
    """Asks the judge once. A repeat with the same `Idempotency-Key` gets the same answer and costs nothing.

    Every inference is charged, also one whose answer cannot be read.
    """
    wanted = _read(body.request)
    if wanted.evidence_chars > MAX_EVIDENCE_CHARS:
        raise EvidenceTooLarge.over(wanted.evidence_chars, MAX_EVIDENCE_CHARS)
    asked = Asked(
        seat=_pinned(judges, body),
        request=wanted,
        problem=body.problem,
        key=key or str(new_id()),
        body=await request.body(),
    )
    return JSONResponse(await grades.grade(caller, asked))


def _read(plain: dict[str, object]) -> GradeRequest:
    try:
        return GradeRequest.of_wire(plain)
    except ValidationError as invalid:
        raise InvalidRequest.faults(
            (f"request.{one.path}".rstrip("."), one.message) for one in problems_of(invalid, GradeRequest)
        ) from None


def _pinned(judges: ScriptJudges, body: GradeIn) -> Seat:
    """The judge that is meant. Raises `JudgeMismatch`."""
    name = body.judge.id.removeprefix("parley/")
    profile = next((one for one in PROFILE_NAMES if one == name), None)
    if profile is None:
        raise JudgeMismatch(f"This service has no judge {body.judge.id[:100]!r}.")
    seat = judges.seat(profile)
    has = {**seat.identity.wire(), "rubricVersion": RUBRIC_VERSION}
    if (body.judge.version_hash, body.rubric_version) != (seat.identity.version_hash, RUBRIC_VERSION):
        raise JudgeMismatch(details=has)
    return seat
