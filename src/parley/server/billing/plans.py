"""What a plan allows and how it multiplies costs."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from sqlalchemy import select

from parley.server.db.session import Session
from parley.server.db.tables import Account, Plan
from parley.server.errors import NotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTerms:
    """The terms of one plan. No runs per minute means no limit."""

    code: str
    runs_per_minute: int | None
    concurrent_runs: int
    multiplier: Decimal
    """Times the cost of user, judge and integrated llms; the account's own gateways are not multiplied."""
    metered: bool
    """Whether usage is charged at all."""


async def plan_of(session: Session, account_id: UUID) -> PlanTerms:
    """The terms an account is on. Raises `NotFound` for an unknown account."""
    found = await session.scalar(
        select(Plan).join(Account, Account.plan == Plan.code).where(Account.id == account_id)
    )
    if found is None:
        raise NotFound("There is no such account.")
    return PlanTerms(
        code=found.code,
        runs_per_minute=found.runs_per_minute,
        concurrent_runs=found.concurrent_runs,
        multiplier=found.multiplier,
        metered=found.metered,
    )
