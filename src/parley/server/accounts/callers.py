"""Who is calling, as a dependency of endpoints."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from fastapi import Depends, Request

from parley.server.accounts.authenticator import Authenticator, Caller
from parley.server.accounts.credentials import SCOPE_NAME, find_token
from parley.server.accounts.last_used import LastUsed
from parley.server.accounts.pace import Pace
from parley.server.accounts.scopes import KeyScope
from parley.server.errors import AccountSuspended, PublicKeyRefused, ScopeMissing
from parley.server.kit.provide import provided


async def any_caller(
    request: Request,
    authenticator: Annotated[Authenticator, provided(Authenticator)],
    last_used: Annotated[LastUsed, provided(LastUsed)],
    pace: Annotated[Pace, provided(Pace)],
) -> Caller:
    """Whoever sent a valid key, public ones and suspended accounts too.

    Raises `MissingKey`, `InvalidKey`, `RequestsLimited`.
    """
    token = find_token(request.headers, request.scope.get(SCOPE_NAME, ()))
    caller = await authenticator.authenticate(token)
    pace.spend(caller.key_id)
    last_used.saw(caller.key_id)
    return caller


AnyCaller: TypeAlias = Annotated[Caller, Depends(any_caller)]


def requires(*scopes: KeyScope) -> Any:
    """A dependency on a private key with these scopes: `Annotated[Caller, requires("tests:read")]`.

    Raises what `any_caller` does, and `PublicKeyRefused`, `ScopeMissing`, `AccountSuspended`.
    """

    async def check(caller: AnyCaller) -> Caller:  # a plain function would be run in a thread
        if caller.kind != "private":
            raise PublicKeyRefused
        if caller.is_suspended:
            raise AccountSuspended
        missing = [scope for scope in scopes if scope not in caller.scopes]
        if missing:
            raise ScopeMissing.of(missing)
        return caller

    return Depends(check)
