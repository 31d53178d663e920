"""Rules of browser sessions: opened by a private key or a one-time link, ended by hand, time or their key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from parley.server.accounts.authenticator import Authenticator, Caller
from parley.server.accounts.browser import LINK_LIFETIME, OpenSession, link_digest, new_secret, session_digest
from parley.server.accounts.repository import (
    SessionLookup,
    SessionRepository,
    SignInLinkRepository,
)
from parley.server.db.session import Session
from parley.server.db.tables import BrowserSession, SignInLink
from parley.server.errors import AccountSuspended, InvalidKey, PublicKeyRefused, SignInLinkSpent
from parley.server.kit.clock import utc_now
from parley.server.kit.ids import new_id


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session just opened, and the token that only the browser keeps."""

    row: BrowserSession
    token: str


async def open_session(session: Session, holder: Caller, lifetime: timedelta) -> NewSession:
    """A session of a key for its browser. Sessions of the account that have run out are removed.

    Raises `PublicKeyRefused` and `AccountSuspended`.
    """
    if holder.kind != "private":
        raise PublicKeyRefused
    if holder.is_suspended:
        raise AccountSuspended
    token = new_secret()
    sessions = SessionRepository(session, holder.scope)
    await sessions.remove_expired()
    row = BrowserSession(
        account_id=holder.account_id,
        id=new_id(),
        key_id=holder.key_id,
        sha256=session_digest(token),
        expires_at=utc_now() + lifetime,
    )
    return NewSession(await sessions.add(row), token)


async def open_sessions(session: Session, tokens: Sequence[str]) -> dict[str, OpenSession]:
    """The sessions of these tokens that are still good, by token."""
    by_digest = {session_digest(token): token for token in tokens if token}
    found = await SessionLookup(session).valid(list(by_digest))
    return {by_digest[one.sha256]: one for one in found}


async def end_sessions(session: Session, authenticator: Authenticator, tokens: Sequence[str]) -> None:
    """End these sessions: at once here, within 10 seconds everywhere. Unknown ones are left out."""
    digests = [session_digest(token) for token in tokens if token]
    if not digests:
        return
    await SessionLookup(session).end(digests)

    async def forget() -> None:
        authenticator.forget_sessions(digests)

    session.after_commit(forget)


async def make_link(session: Session, caller: Caller) -> tuple[SignInLink, str]:
    """A link that opens one session of the calling key within 5 minutes, and its token, shown once."""
    token = new_secret()
    links = SignInLinkRepository(session, caller.scope)
    await links.remove_expired()
    row = SignInLink(
        account_id=caller.account_id,
        id=new_id(),
        key_id=caller.key_id,
        sha256=link_digest(token),
        expires_at=utc_now() + LINK_LIFETIME,
    )
    return await links.add(row), token


async def holder_of_link(session: Session, authenticator: Authenticator, token: str) -> Caller:
    """The holder of the key a link was made with; the link is spent by it.

    Raises `SignInLinkSpent`, and `InvalidKey` if the key has gone since.
    """
    key_sha256 = await SessionLookup(session).spend_link(link_digest(token))
    if key_sha256 is None:
        raise SignInLinkSpent
    holder = await authenticator.holder(key_sha256)
    if holder is None:
        raise InvalidKey
    return holder
