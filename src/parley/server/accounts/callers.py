"""Who is calling, as a dependency of endpoints."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from fastapi import Depends, Request
from structlog.contextvars import bind_contextvars

from parley.server.accounts.authenticator import Authenticator, Caller
from parley.server.accounts.browser import SessionRules
from parley.server.accounts.credentials import SCOPE_NAME, find_token
from parley.server.accounts.last_used import LastUsed
from parley.server.accounts.pace import Pace
from parley.server.accounts.scopes import KeyScope
from parley.server.errors import AccountSuspended, MissingKey, PublicKeyRefused, ScopeMissing
from parley.server.kit.provide import provided


async def any_caller(
    request: Request,
    authenticator: Annotated[Authenticator, provided(Authenticator)],
    last_used: Annotated[LastUsed, provided(LastUsed)],
    pace: Annotated[Pace, provided(Pace)],
    rules: Annotated[SessionRules, provided(SessionRules)],
) -> Caller:
    """Whoever sent a valid key, public ones and suspended accounts too, or else a browser's session.

    Raises `MissingKey`, `InvalidKey`, `SessionEnded`, `CrossSiteRefused`, `RequestsLimited`.
    """
    caller = await _identified(request, authenticator, rules)
    pace.spend(caller.key_id)
    last_used.saw(caller.key_id)
    bind_contextvars(account_id=str(caller.account_id))
    return caller


async def _identified(request: Request, authenticator: Authenticator, rules: SessionRules) -> Caller:
    """A key wins over a cookie: whoever sends one says whom to be taken for."""
    try:
        token = find_token(request.headers, request.scope.get(SCOPE_NAME, ()))
    except MissingKey:
        session_token = rules.speaking(request)
        if session_token is None:
            raise
        return await authenticator.authenticate_session(session_token)
    return await authenticator.authenticate(token)


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
