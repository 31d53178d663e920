"""Accounts and their keys, as operators make and change them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Literal
from uuid import UUID

from parley.server.accounts import service
from parley.server.accounts.lock import lock_account
from parley.server.accounts.scopes import KeyKind, KeyScope
from parley.server.accounts.service import NewKey
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import Account
from parley.server.errors import InvalidRequest, NotFound
from parley.server.kit.paging import Paging
from parley.server.kit.schemas import PageInfo
from parley.server.operators.acts import Via, record
from parley.server.operators.repository import OperatorRepository


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedAccount:
    """A new account and its first keys, which cannot be shown again."""

    account: Account
    private_key: str
    public_key: str


async def open_account(
    session: Session, via: Via, name: str, plan: str, credit: Decimal, owner_email: str | None = None
) -> OpenedAccount:
    """Make an account with `credit` US dollars, a private and a public key.

    Raises `InvalidRequest` for an unknown plan.
    """
    account = await service.create_account(session, name, plan, credit, owner_email)
    private = await service.create_key(session, account.id, "first key", "private")
    public = await service.create_key(session, account.id, "first public key", "public")
    await record(session, via, "account.create", account.id, name=name, plan=plan, credit=account.balance)
    return OpenedAccount(account=account, private_key=private.token, public_key=public.token)


async def list_accounts(
    session: Session, search: str | None, paging: Paging
) -> tuple[Sequence[Account], PageInfo]:
    """Accounts whose name holds `search`, or all, newest first."""
    return await OperatorRepository(session).accounts(search, paging)


async def set_status(
    session: Session, via: Via, account_id: UUID, status: Literal["active", "suspended"]
) -> Account:
    """Suspend an account or let it go on; again changes nothing. Raises `NotFound`.

    Suspended: nothing starts, open runs end before their next turn, open streams within 10 seconds.
    """
    account = await _locked(session, account_id)
    account.status = status
    await record(
        session, via, "account.suspend" if status == "suspended" else "account.unsuspend", account_id
    )
    return account


async def set_plan(session: Session, via: Via, account_id: UUID, plan: str) -> Account:
    """Put an account on another plan. What runs already goes on as it began; spent quota stays spent.

    Raises `NotFound`, and `InvalidRequest` for an unknown plan.
    """
    account = await _locked(session, account_id)
    if await OperatorRepository(session).plan(plan) is None:
        raise InvalidRequest.field("plan", "is not a known plan")
    before, account.plan = account.plan, plan
    await record(session, via, "account.plan", account_id, plan=plan, before=before)
    return account


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnLimits:
    """What an account may do in place of what its plan says; None: as the plan says."""

    runs_per_minute: int | None = None
    concurrent_runs: int | None = None


async def set_limits(session: Session, via: Via, account_id: UUID, limits: OwnLimits) -> Account:
    """Give an account limits of its own, or take them back, for starts from now on.

    They stay when the account's plan changes. More slots are filled by the next sweep; with fewer, open
    runs go on and nothing is admitted until they fit. Raises `NotFound`.
    """
    account = await _locked(session, account_id)
    before = own_limits_of(account)
    account.own_runs_per_minute = limits.runs_per_minute
    account.own_concurrent_runs = limits.concurrent_runs
    await session.flush()
    await record(
        session,
        via,
        "account.limits",
        account_id,
        **asdict(limits),
        **{f"{name}_before": value for name, value in asdict(before).items()},
    )
    return account


def own_limits_of(account: Account) -> OwnLimits:
    """What operators set for this account alone."""
    return OwnLimits(runs_per_minute=account.own_runs_per_minute, concurrent_runs=account.own_concurrent_runs)


async def make_key(
    session: Session,
    via: Via,
    account_id: UUID,
    name: str,
    kind: KeyKind,
    scopes: Sequence[KeyScope] | None = None,
) -> NewKey:
    """Make a key of an account. Raises `NotFound`, and `InvalidRequest` for a public key with scopes."""
    if kind == "public" and scopes:
        raise InvalidRequest.field("scopes", "must be empty for a public key")
    made = await service.create_key(session, account_id, name, kind, scopes)
    await record(session, via, "key.create", account_id, key_id=made.row.id, name=name, kind=kind)
    return made


async def revoke_key(session: Session, via: Via, account_id: UUID, key_id: UUID) -> None:
    """Revoke a key of an account. Raises `NotFound`."""
    await service.revoke_key(session, AccountScope(account_id), key_id)
    await record(session, via, "key.revoke", account_id, key_id=key_id)


async def _locked(session: Session, account_id: UUID) -> Account:
    account = await lock_account(session, account_id)
    if account is None:
        raise NotFound("There is no such account.")
    return account
