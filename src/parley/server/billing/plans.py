"""What a plan allows and how it multiplies costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from uuid import UUID

from sqlalchemy import select

from parley.server.db.session import Session
from parley.server.db.tables import Account, Plan
from parley.server.errors import NotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTerms:
    """The terms of one plan. Where None is allowed it means no limit."""

    code: str
    runs_per_minute: int | None
    concurrent_runs: int
    multiplier: Decimal
    """Times the cost of user, judge and integrated llms; the account's own gateways are not multiplied."""
    metered: bool
    """Whether usage is charged at all."""
    resources_per_test: int
    integrated_requests_per_day: int | None
    integrated_tokens_per_day: int | None


async def plan_of(session: Session, account_id: UUID) -> PlanTerms:
    """The terms an account is on, its own limits included. Raises `NotFound` for an unknown account."""
    found = (
        await session.execute(
            select(Plan, Account).join(Account, Account.plan == Plan.code).where(Account.id == account_id)
        )
    ).first()
    if found is None:
        raise NotFound("There is no such account.")
    return terms_for(found.Account, found.Plan)


def terms_for(account: Account, plan: Plan) -> PlanTerms:
    """The terms of an account on this plan: what operators set for it alone stands in for the plan's."""
    terms = terms_of(plan)
    return replace(
        terms,
        runs_per_minute=account.own_runs_per_minute or terms.runs_per_minute,
        concurrent_runs=account.own_concurrent_runs or terms.concurrent_runs,
    )


def terms_of(plan: Plan) -> PlanTerms:
    """The terms of a plan."""
    return PlanTerms(
        code=plan.code,
        runs_per_minute=plan.runs_per_minute,
        concurrent_runs=plan.concurrent_runs,
        multiplier=plan.multiplier,
        metered=plan.metered,
        resources_per_test=plan.resources_per_test,
        integrated_requests_per_day=plan.integrated_requests_per_day,
        integrated_tokens_per_day=plan.integrated_tokens_per_day,
    )
