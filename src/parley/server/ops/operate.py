"""What operators do from the command line, straight in the database; each act is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal
from uuid import UUID

from parley.server.billing.audit import Difference, audit_books
from parley.server.billing.plans import PlanTerms
from parley.server.billing.schemas import UsageReport
from parley.server.billing.usage import usage_report
from parley.server.config import Settings
from parley.server.db.repository import AccountScope
from parley.server.kit.clock import utc_now
from parley.server.kit.paging import Paging
from parley.server.operators import accounts, money, plans, stuck_runs
from parley.server.ops.transaction import transaction
from parley.server.quotas.report import limits_of
from parley.server.quotas.schemas import LimitsAnswer
from parley.server.runs.stuck import StuckRun
from parley.server.wiring import open_services


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountLine:
    """An account, as a list shows it."""

    id: UUID
    name: str
    plan: str
    status: str
    balance: Decimal


async def list_accounts(search: str | None, most: int) -> Sequence[AccountLine]:
    """The newest accounts whose name holds `search`."""
    async with transaction() as session:
        rows, _ = await accounts.list_accounts(session, search, Paging(limit=most))
        return [
            AccountLine(id=row.id, name=row.name, plan=row.plan, status=row.status, balance=row.balance)
            for row in rows
        ]


async def set_status(account_id: UUID, status: Literal["active", "suspended"]) -> None:
    """Suspend an account or let it go on. Raises `NotFound`."""
    async with transaction() as session:
        await accounts.set_status(session, "command", account_id, status)


async def set_plan(account_id: UUID, plan: str) -> None:
    """Put an account on another plan. Raises `NotFound` and `InvalidRequest`."""
    async with transaction() as session:
        await accounts.set_plan(session, "command", account_id, plan)


async def set_limits(account_id: UUID, limits: accounts.OwnLimits) -> None:
    """Give an account limits of its own, or take them back. Raises `NotFound`."""
    async with transaction() as session:
        await accounts.set_limits(session, "command", account_id, limits)


async def move(
    account_id: UUID, amount: Decimal, note: str, source: Literal["credit", "adjustment"]
) -> Decimal:
    """Move money; the balance afterwards. Raises `NotFound` and `InvalidRequest`."""
    async with transaction() as session:
        return await money.move(session, "command", account_id, amount, note, source)


async def revoke_key(account_id: UUID, key_id: UUID) -> None:
    """Revoke a key. Raises `NotFound`."""
    async with transaction() as session:
        await accounts.revoke_key(session, "command", account_id, key_id)


async def usage(account_id: UUID, time_start: str | None, time_end: str | None) -> UsageReport:
    """What an account used. Raises `InvalidRequest`."""
    async with transaction() as session:
        return await usage_report(session, AccountScope(account_id), time_start, time_end, utc_now())


async def limits(account_id: UUID) -> LimitsAnswer:
    """Where an account stands. Raises `NotFound`."""
    async with transaction() as session:
        return await limits_of(session, AccountScope(account_id))


async def list_plans() -> Sequence[PlanTerms]:
    """All plans."""
    async with transaction() as session:
        return await plans.list_plans(session)


async def edit_plan(code: str, changes: dict[str, plans.PlanValue]) -> PlanTerms:
    """Change terms of a plan. Raises `NotFound`."""
    async with transaction() as session:
        return await plans.edit_plan(session, "command", code, changes)


async def list_stuck_runs(quiet_s: float, most: int) -> Sequence[StuckRun]:
    """Runs that hold a slot and do not come on."""
    async with transaction() as session:
        return await stuck_runs.list_stuck(session, quiet_s, most)


async def release_run(run_id: UUID) -> None:
    """Take a run from whoever holds it, and call a worker. Raises `NotFound`."""
    async with open_services(Settings.load()) as services, services.database.session() as session:
        await stuck_runs.release(session, "command", run_id, services.queue)


async def check_books() -> Sequence[Difference]:
    """Every account whose balance is not the sum of its ledger."""
    async with transaction() as session:
        return await audit_books(session)
