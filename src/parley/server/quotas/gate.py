"""The gate of everything that starts: runs and direct evaluations, whoever starts them.

Enter first: that locks the account, so that what is decided afterwards holds until the transaction
ends. Spend last: a refusal rolls the transaction back, and nothing of it is left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Final
from uuid import UUID

from parley.server.accounts.lock import lock_account
from parley.server.billing.plans import PlanTerms, terms_for
from parley.server.db.raw import RawConnection
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import Plan
from parley.server.errors import (
    AccountSuspended,
    BalanceExhausted,
    IntegratedLimitReached,
    InvalidRequest,
    NotFound,
    QuotaExhausted,
)
from parley.server.quotas.repository import QuotaUnitRepository, StraightUnits, Units
from parley.server.quotas.window import QuotaStanding, standing

_DAY_S: Final = 86_400

# The plan is read behind the lock: joined within it, a change of plan that was waited for would give no row.
_LOCK = """
WITH account AS MATERIALIZED (
    SELECT plan, status, balance, own_runs_per_minute, own_concurrent_runs
      FROM accounts WHERE id = $1 FOR NO KEY UPDATE
)
SELECT account.status, account.balance, plans.code, plans.multiplier, plans.metered, plans.resources_per_test,
       coalesce(account.own_runs_per_minute, plans.runs_per_minute) AS runs_per_minute,
       coalesce(account.own_concurrent_runs, plans.concurrent_runs) AS concurrent_runs,
       plans.integrated_requests_per_day, plans.integrated_tokens_per_day
  FROM account JOIN plans ON plans.code = account.plan
"""
_TERMS: Final = tuple(field.name for field in fields(PlanTerms))


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """An account that may start something, if its quota allows. Its row is locked."""

    account_id: UUID
    balance: Decimal
    plan: PlanTerms


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be started, as far as plans limit it."""

    resources: int
    """How many resources the test has."""
    is_integrated: bool
    """Whether its target is an integrated llm."""


async def enter(session: Session, account_id: UUID) -> Entrant:
    """Lock the account and see that it may start anything at all.

    Raises `NotFound`, `AccountSuspended`, `BalanceExhausted`.
    """
    account = await lock_account(session, account_id)
    if account is None:
        raise NotFound
    if account.status != "active":
        raise AccountSuspended
    return _entered(
        account_id, account.balance, terms_for(account, await session.get_one(Plan, account.plan))
    )


async def enter_straight(connection: RawConnection, account_id: UUID) -> Entrant:
    """The same in the transaction that is open on a raw connection, for starts that must cost little."""
    row = await connection.fetchrow(_LOCK, account_id)
    if row is None:
        raise NotFound
    if row["status"] != "active":
        raise AccountSuspended
    terms = PlanTerms(**{name: row[name] for name in _TERMS})
    return _entered(account_id, row["balance"], terms)


def _entered(account_id: UUID, balance: Decimal, plan: PlanTerms) -> Entrant:
    if plan.metered and balance <= 0:
        raise BalanceExhausted
    return Entrant(account_id=account_id, balance=balance, plan=plan)


async def spend(session: Session, entrant: Entrant, wanted: Wanted) -> QuotaStanding:
    """Spend one unit of the account's quota; where it stands afterwards.

    Raises `InvalidRequest` for more resources than the plan has, `IntegratedLimitReached`,
    `QuotaExhausted`.
    """
    return await _spend(QuotaUnitRepository(session, AccountScope(entrant.account_id)), entrant, wanted)


async def spend_straight(connection: RawConnection, entrant: Entrant, wanted: Wanted) -> QuotaStanding:
    """The same in the transaction that is open on a raw connection."""
    return await _spend(StraightUnits(connection, AccountScope(entrant.account_id)), entrant, wanted)


async def _spend(units: Units, entrant: Entrant, wanted: Wanted) -> QuotaStanding:
    if wanted.resources > entrant.plan.resources_per_test:
        most = entrant.plan.resources_per_test
        raise InvalidRequest.field("resources", f"are {wanted.resources}; the account's plan allows {most}")
    if wanted.is_integrated:
        await _require_integrated(units, entrant.plan)
    limit = entrant.plan.runs_per_minute
    now, spent_at = await units.in_window(0 if limit is None else limit)
    found = standing(spent_at, now, limit)
    if not found.has_room:
        raise QuotaExhausted.over(found.limit or 0, found.reset_s)
    await units.spend(now)
    return found.spent()


async def _require_integrated(units: Units, plan: PlanTerms) -> None:
    requests, tokens = plan.integrated_requests_per_day, plan.integrated_tokens_per_day
    if requests is None and tokens is None:
        return
    used = await units.integrated_use()
    if (requests is None or used.requests < requests) and (tokens is None or used.tokens < tokens):
        return
    frees_in_s = await units.integrated_frees_in_s(requests, tokens)
    limits = {"requests_per_day": requests, "tokens_per_day": tokens}
    retry_after_s = _DAY_S if frees_in_s is None else max(1, math.ceil(frees_in_s))
    raise IntegratedLimitReached(details=limits, retry_after_s=retry_after_s)
