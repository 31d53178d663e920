"""`/api/v1/session`: a browser's sessions. A session may what its key may."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Depends, Query, Request, Response

from parley.server.accounts import sessions
from parley.server.accounts.authenticator import Authenticator, Caller
from parley.server.accounts.browser import MOST_SESSIONS, OpenSession, SessionRules, cookie_value
from parley.server.accounts.callers import requires
from parley.server.db.dependencies import SessionDep
from parley.server.db.session import Session
from parley.server.errors import (
    AccountSuspended,
    CrossSiteRefused,
    InvalidKey,
    InvalidRequest,
    NotFound,
    PublicKeyRefused,
    SignInLinkSpent,
)
from parley.server.kit.docs import answers_with
from parley.server.kit.provide import provided
from parley.server.kit.requests import room_router
from parley.server.kit.schemas import Reply
from parley.server.web.schemas import SessionAnswer, SessionChange, SignIn, SignInLinkAnswer

router = room_router("/session", "session")

RulesDep = Annotated[SessionRules, provided(SessionRules)]
AuthenticatorDep = Annotated[Authenticator, provided(Authenticator)]


async def _own_page(request: Request, rules: RulesDep) -> list[str]:
    """The session tokens of a browser that shows a page of ours. Raises `CrossSiteRefused`."""
    rules.check_origin(request)
    return rules.tokens(request)


TokensDep = Annotated[list[str], Depends(_own_page)]


@router.get("", summary="List this browser's sessions", responses=answers_with(CrossSiteRefused))
async def list_sessions(
    request: Request, response: Response, tokens: TokensDep, session: SessionDep, rules: RulesDep
) -> Reply[list[SessionAnswer]]:
    """The browser's sessions that are still good; none for a browser that is signed out."""
    found = await sessions.open_sessions(session, tokens)
    first, *others = tokens
    left = [first if first in found else "", *(token for token in others if token in found)]
    if left != tokens:
        _keep(request, response, rules, left)
    return Reply(data=_answers(found, left))


@router.post(
    "",
    status_code=201,
    summary="Sign a browser in",
    responses=answers_with(
        InvalidRequest, InvalidKey, SignInLinkSpent, PublicKeyRefused, AccountSuspended, CrossSiteRefused
    ),
)
async def sign_in(
    body: SignIn,
    request: Request,
    response: Response,
    tokens: TokensDep,
    session: SessionDep,
    rules: RulesDep,
    authenticator: AuthenticatorDep,
) -> Reply[list[SessionAnswer]]:
    """Opens a session of a private key, and makes it the one that speaks. Sessions of other accounts stay;
    an earlier one of the same account ends."""
    holder = await _holder(body, session, authenticator)
    made = await sessions.open_session(session, holder, rules.lifetime)
    found = await sessions.open_sessions(session, [made.token, *tokens])
    replaced = [token for token in tokens if _is_of(found.get(token), holder)]
    others = [token for token in tokens if token in found and token not in replaced]
    kept = [made.token, *others][:MOST_SESSIONS]
    await sessions.end_sessions(session, authenticator, [token for token in tokens if token not in kept])
    _keep(request, response, rules, kept)
    return Reply(data=_answers(found, kept))


@router.put("", summary="Switch accounts", responses=answers_with(InvalidRequest, CrossSiteRefused))
async def switch(
    body: SessionChange,
    request: Request,
    response: Response,
    tokens: TokensDep,
    session: SessionDep,
    rules: RulesDep,
) -> Reply[list[SessionAnswer]]:
    """Makes another of the browser's sessions the one that speaks."""
    found = await sessions.open_sessions(session, tokens)
    chosen = next((token for token, one in found.items() if one.id == body.id), None)
    if chosen is None:
        raise InvalidRequest.field("id", "is no session of this browser; sign in again")
    kept = [chosen, *(token for token in tokens if token in found and token != chosen)]
    _keep(request, response, rules, kept)
    return Reply(data=_answers(found, kept))


@router.delete("", status_code=204, summary="Sign out", responses=answers_with(CrossSiteRefused))
async def sign_out(
    request: Request,
    tokens: TokensDep,
    session: SessionDep,
    rules: RulesDep,
    authenticator: AuthenticatorDep,
    everywhere: Annotated[
        bool, Query(description="End the sessions of all accounts of this browser.")
    ] = False,
) -> Response:
    """Ends the session that speaks, here at once, within 10 seconds everywhere, open streams included."""
    ended = tokens if everywhere else tokens[:1]
    await sessions.end_sessions(session, authenticator, ended)
    response = Response(status_code=204)
    _keep(request, response, rules, ["", *([] if everywhere else tokens[1:])])
    return response


@router.post(
    "/links",
    status_code=201,
    summary="Make a sign-in link",
    responses=answers_with(PublicKeyRefused, AccountSuspended, NotFound),
)
async def make_link(
    request: Request,
    caller: Annotated[Caller, requires()],
    session: SessionDep,
    rules: RulesDep,
) -> Reply[SignInLinkAnswer]:
    """A link that opens one session of the calling key in whichever browser opens it first, within 5 minutes.
    Its secret stands behind `#`, where no server and no log sees it."""
    row, token = await sessions.make_link(session, caller)
    base = rules.public_url or str(request.base_url).rstrip("/")
    return Reply(
        message="Open it within 5 minutes; it works once.",
        data=SignInLinkAnswer(url=f"{base}/sign-in#link={token}", expires_at=row.expires_at),
    )


async def _holder(body: SignIn, session: Session, authenticator: Authenticator) -> Caller:
    if (body.key is None) == (body.link is None):
        raise InvalidRequest.field("key", "send a private key here, or the token of a sign-in link as link")
    if body.key is not None:
        return await authenticator.authenticate(body.key.strip())
    return await sessions.holder_of_link(session, authenticator, body.link or "")


def _is_of(one: OpenSession | None, holder: Caller) -> bool:
    return one is not None and one.account_id == holder.account_id


def _answers(found: dict[str, OpenSession], tokens: Sequence[str]) -> list[SessionAnswer]:
    """In the order of the cookie; the first one speaks."""
    return [
        SessionAnswer(**found[token]._asdict(), is_current=place == 0)
        for place, token in enumerate(tokens)
        if token
    ]


def _keep(request: Request, response: Response, rules: SessionRules, tokens: Sequence[str]) -> None:
    """Give the browser its tokens, or take the cookie back when none is left."""
    name, value = rules.cookie_name(request), cookie_value(tokens)
    lasts = int(rules.lifetime.total_seconds()) if value.strip(".") else 0
    response.set_cookie(
        name, value, max_age=lasts, path="/", secure=rules.is_secure, httponly=True, samesite="strict"
    )
