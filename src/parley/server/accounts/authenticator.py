"""From a key, or a browser's session of one, to a caller."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, TypeAlias, cast
from uuid import UUID

from parley.engine.ports import Clock
from parley.server.accounts.browser import session_digest
from parley.server.accounts.repository import FoundKey, KeyLookup
from parley.server.accounts.scopes import KeyKind, KeyScope
from parley.server.accounts.tokens import digest, kind_of
from parley.server.db.database import Database
from parley.server.db.repository import AccountScope
from parley.server.errors import InvalidKey, SessionEnded

_MOST_CACHED = 10_000

Credential: TypeAlias = Literal["key", "session"]
"""What a caller showed: a key itself, or a browser's session of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who sent a request: one key of one account. The account comes from the key and nowhere else."""

    account_id: UUID
    account_name: str
    plan: str
    is_suspended: bool
    key_id: UUID
    kind: KeyKind
    scopes: frozenset[KeyScope]
    expires_at: datetime | None
    sha256: bytes = field(repr=False)
    """Of the credential that was shown."""
    credential: Credential = "key"

    @property
    def scope(self) -> AccountScope:
        """The rows this caller may see."""
        return AccountScope(self.account_id)


class Authenticator:
    """Looks keys up, and trusts what it found for `cache_s` seconds (at most 10).

    Keys that are not found are not remembered, so a new key works at once; what is revoked through
    this process ends at once, through another one within `cache_s`.
    """

    def __init__(self, database: Database, clock: Clock, cache_s: float) -> None:
        self._database = database
        self._clock = clock
        self._cache_s = cache_s
        self._cached: dict[bytes, tuple[float, Caller]] = {}

    async def authenticate(self, token: str) -> Caller:
        """The caller behind a key. Raises `InvalidKey` or `DatabaseAway`."""
        if kind_of(token) is None:
            raise InvalidKey
        caller = await self.holder(digest(token))
        if caller is None:
            raise InvalidKey
        return caller

    async def authenticate_session(self, token: str) -> Caller:
        """The caller behind a browser's session. Raises `SessionEnded` or `DatabaseAway`."""
        caller = await self._look_up(session_digest(token), "session")
        if caller is None:
            raise SessionEnded
        return caller

    async def holder(self, sha256: bytes) -> Caller | None:
        """The caller who holds the key with this digest; None if it is not valid."""
        return await self._look_up(sha256, "key")

    async def is_current(self, caller: Caller) -> bool:
        """Whether an open stream of this caller may go on: key valid, account active."""
        found = await self._look_up(caller.sha256, caller.credential)
        return found is not None and not found.is_suspended

    def forget(self, key_id: UUID) -> None:
        """Do not trust what is remembered of a key any longer."""
        self._cached = {sha256: entry for sha256, entry in self._cached.items() if entry[1].key_id != key_id}

    def forget_sessions(self, digests: Iterable[bytes]) -> None:
        """Do not trust what is remembered of these sessions any longer."""
        for sha256 in digests:
            self._cached.pop(sha256, None)

    async def _look_up(self, sha256: bytes, credential: Credential) -> Caller | None:
        caller = self._remembered(sha256)
        if caller is None:
            async with self._database.session() as session:
                keys = KeyLookup(session)
                found = await (keys.by_sha256 if credential == "key" else keys.by_session)(sha256)
            if found is None or found.revoked_at is not None:
                return None
            caller = _caller(found, sha256, credential)
            self._remember(caller)
        return None if self._is_expired(caller) else caller

    def _remembered(self, sha256: bytes) -> Caller | None:
        entry = self._cached.get(sha256)
        return entry[1] if entry is not None and self._clock.monotonic_s() < entry[0] else None

    def _remember(self, caller: Caller) -> None:
        if len(self._cached) >= _MOST_CACHED:
            self._cached.clear()
        self._cached[caller.sha256] = (self._clock.monotonic_s() + self._cache_s, caller)

    def _is_expired(self, caller: Caller) -> bool:
        now = datetime.fromtimestamp(self._clock.now_ms() / 1000, UTC)
        return caller.expires_at is not None and caller.expires_at <= now


def _caller(found: FoundKey, sha256: bytes, credential: Credential) -> Caller:
    return Caller(
        account_id=found.account_id,
        account_name=found.account_name,
        plan=found.plan,
        is_suspended=found.status != "active",
        key_id=found.key_id,
        kind=cast("KeyKind", found.kind),
        scopes=frozenset(cast("list[KeyScope]", found.scopes)),
        expires_at=found.expires_at,
        sha256=sha256,
        credential=credential,
    )
