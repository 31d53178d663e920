"""`/api/v1/gates`: recorded verdicts, and whether the newest evaluation would pass now."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias
from uuid import UUID

from fastapi import Query, Request

from parley.engine.gate.verdict import Verdict
from parley.server.accounts.authenticator import Caller
from parley.server.accounts.callers import requires
from parley.server.db.dependencies import SessionDep
from parley.server.errors import InvalidRequest, NotFound, PublicKeyRefused, ScopeMissing
from parley.server.evaluations import gate, records
from parley.server.evaluations.filters import TextFilter, given, id_filter, text_filter
from parley.server.evaluations.gate_call import documented, given_in, preview
from parley.server.evaluations.repository import EvaluationRepository
from parley.server.evaluations.schemas import GateRecordReply, GateReply
from parley.server.kit.docs import answers_with
from parley.server.kit.requests import PagingDep, room_router
from parley.server.kit.schemas import Listing, Reply

router = room_router("/gates", "evaluations")

Reader: TypeAlias = Annotated[Caller, requires("tests:read")]
_SUBJECTS = ("dataset", "suite")


@router.get("", summary="List recorded gates", responses=answers_with(PublicKeyRefused, ScopeMissing))
async def list_gates(
    caller: Reader,
    session: SessionDep,
    paging: PagingDep,
    dataset: TextFilter = None,
    suite: TextFilter = None,
    branch: TextFilter = None,
    commit: TextFilter = None,
    by: Annotated[str | None, Query(alias="caller", max_length=60)] = None,
    verdict: Annotated[Verdict | None, Query(description="Only records with this verdict.")] = None,
) -> Listing[GateRecordReply]:
    """The account's recorded gates, newest first."""
    filters = given(
        dataset_id=id_filter("dataset", dataset),
        suite_id=id_filter("suite", suite),
        branch=text_filter("branch", branch),
        commit=text_filter("commit", commit),
        caller=text_filter("caller", by),
        verdict=verdict,
    )
    rows, page = await records.listed(session, caller.scope, filters, paging)
    return Listing(data=rows, page=page)


@router.get(
    "/preview",
    summary="Would the newest evaluation pass now?",
    responses=answers_with(InvalidRequest, PublicKeyRefused, ScopeMissing, NotFound),
    openapi_extra=documented(),
)
async def preview_gate(
    caller: Reader,
    session: SessionDep,
    request: Request,
    dataset: TextFilter = None,
    suite: TextFilter = None,
) -> Reply[GateReply]:
    """The gate's answer for the newest completed evaluation of a dataset or a suite. Without a check it asks
    what the last recorded gate asked. Nothing is recorded."""
    dataset_id, suite_id = _subject(dataset, suite)
    asked = [pair for pair in await given_in(request) if pair[0] not in _SUBJECTS]
    newest = await EvaluationRepository(session, caller.scope).newest_completed(dataset_id, suite_id)
    if newest is None:
        raise NotFound("There is no completed evaluation of it.")
    parameters = await preview(session, caller.scope, dataset_id, suite_id, asked)
    return Reply(data=await gate.answer(session, caller.scope, newest, parameters))


def _subject(dataset: str | None, suite: str | None) -> tuple[UUID | None, UUID | None]:
    found: tuple[Any, Any] = (id_filter("dataset", dataset), id_filter("suite", suite))
    if (found[0] is None) == (found[1] is None):
        raise InvalidRequest.field("dataset", "name either a dataset or a suite")
    return found
