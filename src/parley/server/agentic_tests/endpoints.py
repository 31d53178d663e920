"""`/api/v1/agentic-tests`."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from fastapi import Depends, Query, Request, Response

from parley.server.accounts.authenticator import Caller
from parley.server.accounts.callers import requires
from parley.server.agentic_tests import examples, service
from parley.server.agentic_tests.answers import detail, lines
from parley.server.agentic_tests.schedule import told
from parley.server.agentic_tests.schemas import AgenticTestDetail, ListedAgenticTest
from parley.server.db.dependencies import SessionDep
from parley.server.definitions.body import sent_value
from parley.server.definitions.offer import Offer
from parley.server.definitions.openapi import change_schema, request_body, whole_schema
from parley.server.definitions.schemas import Definition
from parley.server.errors import InvalidRequest, NotFound, PublicKeyRefused, ScopeMissing
from parley.server.kit.docs import answers_with
from parley.server.kit.provide import provided
from parley.server.kit.requests import PagingDep, PathId, room_router
from parley.server.kit.schemas import Listing, Reply
from parley.server.kit.text import is_storable
from parley.server.runs.cancel import Canceller
from parley.server.runs.service import latest as latest_runs
from parley.server.runs.service import recent_scores

router = room_router("/agentic-tests", "agentic tests")

LONGEST_FILTER = 200
"""Characters of a filter: as many as a name or a gateway's reference may have."""

MOST_SCORES = 50
"""Runs of each test of a list that are looked at for scores."""

Reader: TypeAlias = Annotated[Caller, requires("tests:read")]
Writer: TypeAlias = Annotated[Caller, requires("tests:write")]
OfferDep: TypeAlias = Annotated[Offer, provided(Offer)]


async def _dry_run(
    request: Request,
    dry_run: Annotated[
        bool, Query(description="Check the body and answer with what would be stored; store nothing.")
    ] = False,
) -> bool:
    """Whether nothing is to be stored. A wish that is mistyped or given twice stores nothing either."""
    names = [name for name, _ in request.query_params.multi_items()]
    if strange := sorted(set(names) - {"dry_run"}):
        raise InvalidRequest.field(strange[0], "is unknown here; dry_run is the only parameter")
    if len(names) > 1:
        raise InvalidRequest.field("dry_run", "is given more than once")
    return dry_run


DryRun: TypeAlias = Annotated[bool, Depends(_dry_run)]


DefinitionBody: TypeAlias = Annotated[Any, Depends(sent_value)]


def _filter(name: str, text: str | None) -> str | None:
    if text is not None and not is_storable(text):
        raise InvalidRequest.field(name, "must not contain a NUL character")
    return text


@router.get(
    "",
    summary="List tests",
    responses=answers_with(PublicKeyRefused, ScopeMissing),
)
async def list_tests(
    caller: Reader,
    session: SessionDep,
    paging: PagingDep,
    search: Annotated[
        str | None, Query(max_length=LONGEST_FILTER, description="A part of the name, in any case.")
    ] = None,
    gateway: Annotated[
        str | None,
        Query(max_length=LONGEST_FILTER, description="A gateway's slug or id, or @vendor/name."),
    ] = None,
    scores: Annotated[
        int, Query(ge=0, le=MOST_SCORES, description="How many of its newest runs tell their score.")
    ] = 0,
) -> Listing[ListedAgenticTest]:
    """The account's tests, newest first, each with its latest run."""
    found, page = await service.listed(
        session,
        caller.scope,
        paging,
        search=_filter("search", search),
        gateway=_filter("gateway", gateway),
    )
    ids = [test.row.id for test in found]
    latest = await latest_runs(session, caller.scope, ids)
    told_scores = await recent_scores(session, caller.scope, ids, scores) if scores else None
    return Listing(data=lines(found, latest, told_scores), page=page)


@router.post(
    "",
    status_code=201,
    summary="Make a test",
    responses=answers_with(InvalidRequest, PublicKeyRefused, ScopeMissing),
    openapi_extra=request_body(whole_schema(Definition), examples.CREATE),
)
async def create_test(
    caller: Writer,
    body: DefinitionBody,
    session: SessionDep,
    offer: OfferDep,
    response: Response,
    dry_run: DryRun,
) -> Reply[AgenticTestDetail]:
    """Makes a test. A body with faults is answered with all of them, and nothing is stored. A dry run is
    answered with 200."""
    row = await service.create(session, caller.scope, offer, body)
    described = await service.describe(session, caller.scope, offer, row.id)
    reply = Reply(message=told(row), data=detail(described, None))
    if dry_run:
        response.status_code = 200
        await session.rollback()
    return reply


@router.get(
    "/{test_id}",
    summary="Read a test",
    responses=answers_with(PublicKeyRefused, ScopeMissing, NotFound),
)
async def read_test(
    test_id: PathId, caller: Reader, session: SessionDep, offer: OfferDep
) -> Reply[AgenticTestDetail]:
    """A test with all its fields, its revision as of now, its next starts and its latest run."""
    described = await service.describe(session, caller.scope, offer, test_id)
    latest = await latest_runs(session, caller.scope, [test_id])
    return Reply(data=detail(described, latest.get(test_id)))


@router.patch(
    "/{test_id}",
    summary="Change a test",
    responses=answers_with(InvalidRequest, PublicKeyRefused, ScopeMissing, NotFound),
    openapi_extra=request_body(change_schema(Definition), examples.CHANGE),
)
async def change_test(
    test_id: PathId,
    caller: Writer,
    body: DefinitionBody,
    session: SessionDep,
    offer: OfferDep,
    dry_run: DryRun,
) -> Reply[AgenticTestDetail]:
    """Changes only what is sent. Objects and lists are replaced, `user_sampling` is merged, null clears a
    field that may be null. The merged whole is checked; runs that have begun keep what they began with."""
    row = await service.change(session, caller.scope, offer, test_id, body)
    described = await service.describe(session, caller.scope, offer, test_id)
    latest = await latest_runs(session, caller.scope, [test_id])
    reply = Reply(message=told(row), data=detail(described, latest.get(test_id)))
    if dry_run:
        await session.rollback()
    return reply


@router.delete(
    "/{test_id}",
    status_code=204,
    summary="Delete a test",
    responses=answers_with(PublicKeyRefused, ScopeMissing, NotFound),
)
async def delete_test(
    test_id: PathId,
    caller: Writer,
    session: SessionDep,
    canceller: Annotated[Canceller, provided(Canceller)],
) -> Response:
    """Hides a test at once and cancels its open runs. Its runs are removed in the background, except those
    that belong to an evaluation."""
    await service.delete(session, caller.scope, canceller.cancel_open, test_id)
    return Response(status_code=204)
