"""`/api/v1/account`, `/api/v1/keys` and `/api/v1/whoami`."""

from __future__ import annotations

from typing import Annotated

from fastapi import Response

from parley.server.accounts import service
from parley.server.accounts.authenticator import Authenticator, Caller
from parley.server.accounts.callers import AnyCaller, requires
from parley.server.accounts.schemas import (
    AccountAnswer,
    AccountUpdate,
    KeyAnswer,
    KeyCreate,
    NewKeyAnswer,
    WhoAmI,
)
from parley.server.accounts.scopes import ALL_SCOPES
from parley.server.db.dependencies import SessionDep
from parley.server.errors import InvalidRequest, NotFound, PublicKeyRefused, ScopeMissing
from parley.server.kit.docs import answers_with
from parley.server.kit.provide import provided
from parley.server.kit.requests import PagingDep, PathId, room_router
from parley.server.kit.schemas import Listing, Reply

router = room_router("", "account")

AccountReader = Annotated[Caller, requires("account:read")]
AccountWriter = Annotated[Caller, requires("account:write")]


@router.get("/whoami", summary="Who is calling")
async def whoami(caller: AnyCaller) -> Reply[WhoAmI]:
    """Answers any valid key, public ones and those of suspended accounts too."""
    return Reply(
        data=WhoAmI(
            account_id=caller.account_id,
            account_name=caller.account_name,
            plan=caller.plan,
            status="suspended" if caller.is_suspended else "active",
            key_id=caller.key_id,
            kind=caller.kind,
            scopes=[scope for scope in ALL_SCOPES if scope in caller.scopes],
            expires_at=caller.expires_at,
        )
    )


@router.get("/account", summary="Read the account", responses=answers_with(PublicKeyRefused, ScopeMissing))
async def read_account(caller: AccountReader, session: SessionDep) -> Reply[AccountAnswer]:
    """The account of the calling key."""
    account = await service.read_account(session, caller.account_id)
    return Reply(data=AccountAnswer.model_validate(account))


@router.put(
    "/account",
    summary="Replace the account's particulars",
    responses=answers_with(InvalidRequest, PublicKeyRefused, ScopeMissing),
)
async def update_account(
    body: AccountUpdate, caller: AccountWriter, session: SessionDep
) -> Reply[AccountAnswer]:
    """Replaces name and addresses; what is left out is cleared. Plan and status are the operator's."""
    account = await service.update_account(session, caller.scope, body)
    await session.refresh(account)
    return Reply(data=AccountAnswer.model_validate(account))


@router.get("/keys", summary="List keys", responses=answers_with(PublicKeyRefused, ScopeMissing))
async def list_keys(caller: AccountReader, session: SessionDep, paging: PagingDep) -> Listing[KeyAnswer]:
    """The account's keys, newest first, revoked ones too."""
    rows, page = await service.list_keys(session, caller.scope, paging)
    return Listing(data=[KeyAnswer.model_validate(row) for row in rows], page=page)


@router.post(
    "/keys",
    status_code=201,
    summary="Make a key",
    responses=answers_with(InvalidRequest, PublicKeyRefused, ScopeMissing),
)
async def create_key(body: KeyCreate, caller: AccountWriter, session: SessionDep) -> Reply[NewKeyAnswer]:
    """Makes a key with the scopes of the calling key, or fewer. The answer shows the key this once."""
    made = await service.create_key_for(session, caller, body.name, body.kind, body.scopes, body.expires_at)
    shown = KeyAnswer.model_validate(made.row)
    return Reply(
        message="Keep this key: it is not shown again.",
        data=NewKeyAnswer(**shown.model_dump(), key=made.token),
    )


@router.delete(
    "/keys/{key_id}",
    status_code=204,
    summary="Revoke a key",
    responses=answers_with(PublicKeyRefused, ScopeMissing, NotFound),
)
async def revoke_key(
    key_id: PathId,
    caller: AccountWriter,
    session: SessionDep,
    authenticator: Annotated[Authenticator, provided(Authenticator)],
) -> Response:
    """Revokes a key at once here, within 10 seconds everywhere, open streams included."""
    await service.revoke_key(session, caller.scope, key_id)

    async def forget() -> None:
        authenticator.forget(key_id)

    session.after_commit(forget)
    return Response(status_code=204)
