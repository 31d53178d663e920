"""Rules of accounts and keys. Operators' commands call `create_account` and `create_key`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from parley.server.accounts.authenticator import Caller
from parley.server.accounts.repository import AccountRepository, KeyRepository
from parley.server.accounts.schemas import AccountUpdate
from parley.server.accounts.scopes import ALL_SCOPES, KeyKind, KeyScope
from parley.server.accounts.tokens import digest, new_token, shown
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import Account, ApiKey
from parley.server.errors import InvalidRequest, NotFound, ScopeMissing
from parley.server.kit.clock import utc_now
from parley.server.kit.ids import new_id
from parley.server.kit.money import ZERO_USD, usd
from parley.server.kit.paging import Paging
from parley.server.kit.schemas import PageInfo


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key just made: its row, and the token that is shown once."""

    row: ApiKey
    token: str


async def create_account(
    session: Session,
    name: str,
    plan: str = "free",
    credit: Decimal = ZERO_USD,
    owner_email: str | None = None,
) -> Account:
    """Make an account with `credit` US dollars, its first ledger line.

    Raises `InvalidRequest` for an unknown plan.
    """
    accounts = AccountRepository(session)
    if not await accounts.knows_plan(plan):
        raise InvalidRequest.field("plan", "is not a known plan; there are free, pro and max")
    account = Account(id=new_id(), name=name, plan=plan, balance=usd(credit), owner_email=owner_email)
    await accounts.add(account)
    if account.balance:
        await accounts.open_ledger(account)
    return account


async def update_account(session: Session, scope: AccountScope, body: AccountUpdate) -> Account:
    """Replace an account's particulars. Raises `NotFound`."""
    account = await read_account(session, scope.account_id)
    account.name = body.name
    account.owner_email = body.owner_email
    account.alerts_contact = body.alerts_contact
    await session.flush()
    return account


async def read_account(session: Session, account_id: UUID) -> Account:
    """An account. Raises `NotFound`."""
    account = await AccountRepository(session).get(account_id)
    if account is None:
        raise NotFound("There is no such account.")
    return account


async def create_key(
    session: Session,
    account_id: UUID,
    name: str,
    kind: KeyKind = "private",
    scopes: Sequence[KeyScope] | None = None,
    expires_at: datetime | None = None,
) -> NewKey:
    """Make a key of an account; without scopes a private key may do everything, a public one nothing.

    Raises `NotFound` for an unknown account.
    """
    await read_account(session, account_id)
    return await _add_key(session, AccountScope(account_id), name, kind, scopes, expires_at)


async def create_key_for(
    session: Session,
    caller: Caller,
    name: str,
    kind: KeyKind,
    scopes: Sequence[KeyScope] | None,
    expires_at: datetime | None,
) -> NewKey:
    """Make a key as a caller may: of its own scopes or fewer. Raises `ScopeMissing`, `InvalidRequest`."""
    wanted = list(scopes) if scopes is not None else sorted(caller.scopes)
    if kind == "public" and scopes:
        raise InvalidRequest.field("scopes", "must be empty for a public key")
    if expires_at is not None and expires_at <= utc_now():
        raise InvalidRequest.field("expires_at", "is in the past")
    missing = [scope for scope in wanted if scope not in caller.scopes]
    if missing:
        raise ScopeMissing.of(missing)
    return await _add_key(session, caller.scope, name, kind, wanted, expires_at)


async def list_keys(
    session: Session, scope: AccountScope, paging: Paging
) -> tuple[Sequence[ApiKey], PageInfo]:
    """One page of an account's keys, newest first, revoked ones too."""
    keys = KeyRepository(session, scope)
    return await keys.page(keys.rows(), paging)


async def revoke_key(session: Session, scope: AccountScope, key_id: UUID) -> None:
    """Revoke a key; again changes nothing. Raises `NotFound`."""
    if not await KeyRepository(session, scope).revoke(key_id):
        raise NotFound


async def _add_key(
    session: Session,
    scope: AccountScope,
    name: str,
    kind: KeyKind,
    scopes: Sequence[KeyScope] | None,
    expires_at: datetime | None,
) -> NewKey:
    token = new_token(kind)
    held = ALL_SCOPES if scopes is None else scopes
    row = ApiKey(
        account_id=scope.account_id,
        id=new_id(),
        name=name,
        kind=kind,
        sha256=digest(token),
        shown=shown(token),
        scopes=[known for known in ALL_SCOPES if known in held] if kind == "private" else [],
        expires_at=expires_at,
    )
    return NewKey(await KeyRepository(session, scope).add(row), token)
