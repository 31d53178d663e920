"""`/api/v1/apps`."""

from __future__ import annotations

from typing import Annotated

from aiohttp import ClientSession
from fastapi import Response

from parley.server.accounts.authenticator import Caller
from parley.server.accounts.callers import requires
from parley.server.apps import service
from parley.server.apps.check import check_app, offer_of, suites_of
from parley.server.apps.client import AppClient
from parley.server.apps.faults import AppFault
from parley.server.apps.repository import AppRepository
from parley.server.apps.schemas import AppAnswer, AppChange, AppCheck, AppCreate
from parley.server.apps.vault import address_of
from parley.server.db.dependencies import DatabaseDep, SessionDep
from parley.server.db.tables import RemoteApp
from parley.server.errors import AccountSuspended, InvalidRequest, NotFound, PublicKeyRefused, ScopeMissing
from parley.server.kit.clock import SystemClock
from parley.server.kit.crypto import Keyring
from parley.server.kit.docs import answers_with
from parley.server.kit.provide import provided
from parley.server.kit.requests import PagingDep, PathId, room_router
from parley.server.kit.schemas import Listing, Reply
from parley.server.outbound.guard import OutboundPolicy

router = room_router("/apps", "apps")

Reader = Annotated[Caller, requires("tests:read")]
Writer = Annotated[Caller, requires("tests:write")]
KeyringDep = Annotated[Keyring, provided(Keyring)]
PolicyDep = Annotated[OutboundPolicy, provided(OutboundPolicy)]

_REFUSALS = (PublicKeyRefused, ScopeMissing, AccountSuspended)


@router.get("", summary="List remote apps", responses=answers_with(*_REFUSALS))
async def list_apps(caller: Reader, session: SessionDep, paging: PagingDep) -> Listing[AppAnswer]:
    """The account's apps, newest first."""
    apps = AppRepository(session, caller.scope)
    rows, page = await apps.page(apps.rows(), paging)
    return Listing(data=[AppAnswer.model_validate(row) for row in rows], page=page)


@router.post(
    "", status_code=201, summary="Register a remote app", responses=answers_with(InvalidRequest, *_REFUSALS)
)
async def create_app(
    body: AppCreate, caller: Writer, session: SessionDep, keyring: KeyringDep, policy: PolicyDep
) -> Reply[AppAnswer]:
    """An app that plays attempts at scripted cases itself. Its key is sealed and never shown again."""
    row = await service.create(session, caller.scope, keyring, policy, body)
    return Reply(data=AppAnswer.model_validate(row))


@router.get("/{app_id}", summary="Read a remote app", responses=answers_with(*_REFUSALS, NotFound))
async def read_app(app_id: PathId, caller: Reader, session: SessionDep) -> Reply[AppAnswer]:
    """One app, without its key."""
    row = await AppRepository(session, caller.scope).get(app_id)
    if row is None:
        raise NotFound
    return Reply(data=AppAnswer.model_validate(row))


@router.patch(
    "/{app_id}", summary="Change a remote app", responses=answers_with(InvalidRequest, *_REFUSALS, NotFound)
)
async def change_app(
    app_id: PathId,
    body: AppChange,
    caller: Writer,
    session: SessionDep,
    keyring: KeyringDep,
    policy: PolicyDep,
) -> Reply[AppAnswer]:
    """Changes only what is sent. The slug stays; with another address or key the offer is unknown again."""
    row = await service.change(session, caller.scope, keyring, policy, app_id, body)
    return Reply(data=AppAnswer.model_validate(row))


@router.delete(
    "/{app_id}",
    status_code=204,
    summary="Delete a remote app",
    responses=answers_with(*_REFUSALS, NotFound),
)
async def delete_app(app_id: PathId, caller: Writer, session: SessionDep) -> Response:
    """Attempts that it plays go on to their end; those that wait are errors, and suites that name it cannot
    be started any more."""
    await service.delete(session, caller.scope, app_id)
    return Response(status_code=204)


@router.post(
    "/{app_id}/check", summary="Ask an app what it offers", responses=answers_with(*_REFUSALS, NotFound)
)
async def check(
    app_id: PathId,
    caller: Writer,
    database: DatabaseDep,
    keyring: KeyringDep,
    calls: Annotated[ClientSession, provided(ClientSession)],
    clock: Annotated[SystemClock, provided(SystemClock)],
) -> Reply[AppCheck]:
    """Reads the app's manifest: suites, handlers, judge. Nothing of the app runs. What it offers is kept."""
    row = await _row(database, caller, app_id)
    latency_ms, found = await check_app(AppClient(calls, address_of(row, keyring)), clock)
    if isinstance(found, AppFault):
        return Reply(message=found.message, data=_failed(found, latency_ms))
    offer = offer_of(found)
    async with database.session() as session:
        await service.keep_offer(session, caller.scope, app_id, offer)
    return Reply(
        data=AppCheck(
            ok=True, code=None, fault=None, latency_ms=latency_ms, offer=offer, suites=suites_of(found)
        )
    )


def _failed(fault: AppFault, latency_ms: int) -> AppCheck:
    return AppCheck(
        ok=False, code=fault.code, fault=fault.message, latency_ms=latency_ms, offer=None, suites=[]
    )


async def _row(database: DatabaseDep, caller: Caller, app_id: PathId) -> RemoteApp:
    async with database.session() as session:
        row = await AppRepository(session, caller.scope).get(app_id)
    if row is None:
        raise NotFound
    return row
