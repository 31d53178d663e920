"""Where an account stands: read without locks, right for the moment it was read."""

from __future__ import annotations

from parley.server.billing.plans import plan_of
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.quotas.repository import QuotaUnitRepository
from parley.server.quotas.schemas import (
    DayLimit,
    IntegratedLimits,
    LimitsAnswer,
    RunSlotLimit,
    SlotLimit,
    StartLimit,
)
from parley.server.quotas.window import WINDOW, QuotaStanding, standing


async def limits_of(session: Session, scope: AccountScope) -> LimitsAnswer:
    """Plan, limits, and what of them is used. Raises `NotFound` for an account that is gone."""
    plan = await plan_of(session, scope.account_id)
    units = QuotaUnitRepository(session, scope)
    now, spent_at = await units.in_window(plan.runs_per_minute)
    slots = await units.slots()
    used = await units.integrated_use()
    return LimitsAnswer(
        plan=plan.code,
        metered=plan.metered,
        multiplier=plan.multiplier,
        runs_per_minute=_start_limit(standing(spent_at, now, plan.runs_per_minute)),
        concurrent_runs=RunSlotLimit(limit=plan.concurrent_runs, in_use=slots.runs, waiting=slots.waiting),
        concurrent_direct=SlotLimit(limit=plan.concurrent_runs, in_use=slots.direct),
        resources_per_test=plan.resources_per_test,
        integrated=IntegratedLimits(
            requests_per_day=_day_limit(plan.integrated_requests_per_day, used.requests),
            tokens_per_day=_day_limit(plan.integrated_tokens_per_day, used.tokens),
        ),
    )


def _start_limit(found: QuotaStanding) -> StartLimit:
    return StartLimit(
        limit=found.limit,
        used=found.used,
        remaining=found.remaining,
        window_s=int(WINDOW.total_seconds()),
        reset_at=None if found.limit is None else found.frees_at,
    )


def _day_limit(limit: int | None, used: int) -> DayLimit:
    return DayLimit(limit=limit, used=used, remaining=None if limit is None else max(0, limit - used))
