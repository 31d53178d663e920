"""SQL of accounts and keys."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import delete, func, or_, select, text, update

from parley.server.accounts.browser import OpenSession
from parley.server.db.repository import Repository
from parley.server.db.session import Session
from parley.server.db.tables import Account, ApiKey, BrowserSession, LedgerEntry, Plan, SignInLink


class FoundKey(NamedTuple):
    """A key and its account, as authentication needs them."""

    account_id: UUID
    key_id: UUID
    kind: str
    scopes: list[str]
    expires_at: datetime | None
    revoked_at: datetime | None
    account_name: str
    plan: str
    status: str


_BY_SHA256 = (
    "SELECT k.account_id, k.id, k.kind, k.scopes, k.expires_at, k.revoked_at, a.name, a.plan, a.status "
    "FROM api_keys k JOIN accounts a ON a.id = k.account_id WHERE k.sha256 = :sha256"
)


_BY_SESSION = (
    "SELECT k.account_id, k.id, k.kind, k.scopes, LEAST(k.expires_at, s.expires_at), k.revoked_at, "
    "a.name, a.plan, a.status FROM browser_sessions s "
    "JOIN api_keys k ON (k.account_id, k.id) = (s.account_id, s.key_id) "
    "JOIN accounts a ON a.id = s.account_id WHERE s.sha256 = :sha256"
)
_VALID_SESSIONS = (
    "SELECT s.id, s.sha256, s.account_id, a.name, a.plan, a.status, k.name, k.shown, k.scopes, "
    "LEAST(k.expires_at, s.expires_at) FROM browser_sessions s "
    "JOIN api_keys k ON (k.account_id, k.id) = (s.account_id, s.key_id) "
    "JOIN accounts a ON a.id = s.account_id "
    "WHERE s.sha256 = ANY(:digests) AND k.revoked_at IS NULL AND LEAST(k.expires_at, s.expires_at) > now()"
)
_SPEND_LINK = (
    "DELETE FROM sign_in_links l USING api_keys k WHERE (k.account_id, k.id) = (l.account_id, l.key_id) "
    "AND l.sha256 = :sha256 RETURNING l.expires_at > now(), k.sha256"
)


class KeyLookup:
    """Keys of any account: authentication starts before an account is known."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def by_sha256(self, sha256: bytes) -> FoundKey | None:
        """The key with this digest."""
        row = (await self._session.execute(text(_BY_SHA256), {"sha256": sha256})).first()
        return FoundKey(*row) if row is not None else None

    async def by_session(self, sha256: bytes) -> FoundKey | None:
        """The key of the session with this digest; it expires when the first of the two does."""
        row = (await self._session.execute(text(_BY_SESSION), {"sha256": sha256})).first()
        return FoundKey(*row) if row is not None else None

    async def touch(self, key_ids: Collection[UUID]) -> None:
        """Note that these keys were used, unless that was noted less than a minute ago."""
        stale = or_(
            ApiKey.last_used_at.is_(None), ApiKey.last_used_at < func.now() - text("interval '1 minute'")
        )
        await self._session.execute(
            update(ApiKey).where(ApiKey.id.in_(key_ids), stale).values(last_used_at=func.now())
        )


class SessionLookup:
    """Sessions and links of any account: a browser shows a token before an account is known."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def valid(self, digests: list[bytes]) -> list[OpenSession]:
        """Those of these sessions that are neither over nor of a key that is."""
        rows = await self._session.execute(text(_VALID_SESSIONS), {"digests": digests})
        return [OpenSession(*row) for row in rows]

    async def end(self, digests: list[bytes]) -> None:
        """Remove these sessions."""
        await self._session.execute(delete(BrowserSession).where(BrowserSession.sha256.in_(digests)))

    async def spend_link(self, sha256: bytes) -> bytes | None:
        """Remove the link with this digest; the digest of its key, or None if it was spent or too old."""
        row = (await self._session.execute(text(_SPEND_LINK), {"sha256": sha256})).first()
        return bytes(row[1]) if row is not None and row[0] else None


class SessionRepository(Repository[BrowserSession]):
    """The sessions of an account."""

    table = BrowserSession

    async def remove_expired(self) -> None:
        """Remove those that have run out."""
        await self.session.execute(
            self.narrow(delete(BrowserSession)).where(BrowserSession.expires_at <= func.now())
        )


class SignInLinkRepository(Repository[SignInLink]):
    """The unspent links of an account."""

    table = SignInLink

    async def remove_expired(self) -> None:
        """Remove those that are too old to be used."""
        await self.session.execute(self.narrow(delete(SignInLink)).where(SignInLink.expires_at <= func.now()))


class KeyRepository(Repository[ApiKey]):
    """The keys of an account."""

    table = ApiKey

    async def revoke(self, key_id: UUID) -> bool:
        """Revoke a key; once revoked it keeps its time. False if there is no such key."""
        statement = self.narrow(update(ApiKey)).where(ApiKey.id == key_id)
        found = await self.session.execute(
            statement.values(revoked_at=func.coalesce(ApiKey.revoked_at, func.now())).returning(ApiKey.id)
        )
        return found.first() is not None


class AccountRepository:
    """Accounts, for operators."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def add(self, account: Account) -> None:
        """Insert `account` now."""
        self._session.add(account)
        await self._session.flush()

    async def open_ledger(self, account: Account) -> None:
        """Write the opening credit as the first line of the account's ledger.

        Account and line are made together, so this room writes it; all later lines are billing's.
        """
        credit = LedgerEntry(
            account_id=account.id, source="credit", source_id=account.id, seq=0, amount=account.balance
        )
        self._session.add(credit)
        await self._session.flush()

    async def get(self, account_id: UUID) -> Account | None:
        """The account with this id."""
        return await self._session.get(Account, account_id)

    async def knows_plan(self, code: str) -> bool:
        """Whether there is such a plan."""
        return await self._session.scalar(select(Plan.code).where(Plan.code == code)) is not None
