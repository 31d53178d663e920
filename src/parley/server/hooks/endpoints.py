"""`/api/v1/account/hook-key`."""

from __future__ import annotations

from typing import Annotated

from parley.server.accounts.authenticator import Caller
from parley.server.accounts.callers import requires
from parley.server.db.dependencies import SessionDep
from parley.server.errors import PublicKeyRefused, ScopeMissing
from parley.server.hooks import service
from parley.server.hooks.schemas import HookKeyAnswer, NewHookKey
from parley.server.kit.crypto import Keyring
from parley.server.kit.docs import answers_with
from parley.server.kit.provide import provided
from parley.server.kit.requests import room_router
from parley.server.kit.schemas import Reply

router = room_router("/account", "account")

AccountReader = Annotated[Caller, requires("account:read")]
AccountWriter = Annotated[Caller, requires("account:write")]


@router.get(
    "/hook-key",
    summary="Whether there is a hook key",
    responses=answers_with(PublicKeyRefused, ScopeMissing),
)
async def read_hook_key(caller: AccountReader, session: SessionDep) -> Reply[HookKeyAnswer]:
    """Tells since when the account has a hook key. The key itself is never shown again."""
    return Reply(data=HookKeyAnswer(rolled_at=await service.rolled_at(session, caller.scope)))


@router.post(
    "/hook-key/roll",
    summary="Roll the hook key",
    responses=answers_with(PublicKeyRefused, ScopeMissing),
)
async def roll_hook_key(
    caller: AccountWriter,
    session: SessionDep,
    keyring: Annotated[Keyring, provided(Keyring)],
) -> Reply[NewHookKey]:
    """Makes the key that signs calls of hooks, in place of the one before; the answer shows it this once.

    Runs that began with the old key go on with it.
    """
    rolled = await service.roll_key(session, caller.scope, keyring)
    return Reply(
        message="Keep this key: it is not shown again.",
        data=NewHookKey(key=rolled.key, rolled_at=rolled.rolled_at),
    )
