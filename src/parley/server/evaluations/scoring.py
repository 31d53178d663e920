"""Scoring results: handing them out under a lease, and ending them once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID, uuid4

from sqlalchemy import text

from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import CaseResult
from parley.server.evaluations import finish
from parley.server.evaluations.new import Score
from parley.server.evaluations.repository import ResultRepository
from parley.server.evaluations.results import take_hold, values_of

MOST_ATTEMPTS: Final = 3
"""Scorers that may be lost over one result; then it is worn out, and skipped."""

# Accounts take turns, so that one account's thousand results do not hold up another's one.
_CLAIM = text("""
WITH due AS (
    SELECT account_id, id FROM (
        SELECT account_id, id, row_number() OVER (PARTITION BY account_id ORDER BY id) AS turn
          FROM (
            SELECT account_id, id FROM case_results
             WHERE kind = 'custom' AND (status = 'pending' OR status = 'scoring' AND lease_until <= now())
            UNION ALL
            SELECT account_id, id FROM case_results
             WHERE kind = 'simulated' AND regraded_from IS NOT NULL
               AND (status = 'pending' OR status = 'scoring' AND lease_until <= now())
        ) AS waiting
    ) AS in_turn ORDER BY turn, id LIMIT :limit
), held AS (
    SELECT case_results.account_id, case_results.id FROM case_results JOIN due USING (account_id, id)
     WHERE status = 'pending' OR status = 'scoring' AND lease_until <= now()
       FOR UPDATE OF case_results SKIP LOCKED
)
UPDATE case_results
   SET status = 'scoring', attempts = attempts + 1, lease_token = :token,
       lease_until = now() + make_interval(secs => :lease_s)
  FROM held WHERE case_results.account_id = held.account_id AND case_results.id = held.id
RETURNING case_results.account_id, case_results.id, case_results.evaluation_id, case_results.attempts
""")

_RENEW = text("""
UPDATE case_results SET lease_until = now() + make_interval(secs => :lease_s)
 WHERE account_id = :account_id AND id = :id AND status = 'scoring' AND lease_token = :token
RETURNING id
""")

_RELEASE = text("""
UPDATE case_results
   SET status = 'pending', lease_token = NULL, lease_until = NULL, attempts = greatest(attempts - 1, 0)
 WHERE account_id = :account_id AND id = :id AND status = 'scoring' AND lease_token = :token
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A result that a scorer holds. With `is_worn_out` too many scorers were lost over it: skip it."""

    account_id: UUID
    result_id: UUID
    evaluation_id: UUID
    token: UUID
    attempts: int

    @property
    def scope(self) -> AccountScope:
        """The account it is of."""
        return AccountScope(self.account_id)

    @property
    def is_worn_out(self) -> bool:
        """Whether it was held too often without an end."""
        return self.attempts > MOST_ATTEMPTS


async def claim(session: Session, limit: int, lease_s: float) -> list[Claimed]:
    """Take up to `limit` waiting results, of all accounts, for `lease_s` seconds: those of custom cases, and
    of simulated ones that are judged again."""
    token = uuid4()
    rows = await session.execute(_CLAIM, {"limit": limit, "lease_s": lease_s, "token": token})
    return [
        Claimed(
            account_id=row.account_id,
            result_id=row.id,
            evaluation_id=row.evaluation_id,
            token=token,
            attempts=row.attempts,
        )
        for row in rows
    ]


async def renew(session: Session, held: Claimed, lease_s: float) -> bool:
    """Hold on to a result. False if it was lost, or ended by a cancel: then give up."""
    return await session.scalar(_RENEW, {**_key(held), "lease_s": lease_s}) is not None


async def release(session: Session, held: Claimed) -> None:
    """Hand a result back unscored, as a worker does that stops; the attempt does not count."""
    await session.execute(_RELEASE, _key(held))


async def score(
    session: Session,
    scope: AccountScope,
    evaluation_id: UUID,
    result_id: UUID,
    ended: Score,
    *,
    held: Claimed | None = None,
) -> CaseResult | None:
    """End a result, and its evaluation if it waited for this one alone. None if it is open no more.

    With `held` only under that lease. Raises `NotFound` for an evaluation that is not there. Charges are
    the producer's: make them before, since the account's row is locked before an evaluation's.
    """
    evaluation = await take_hold(session, scope, evaluation_id)
    values = values_of(ended) | {"cost": CaseResult.cost + ended.cost_usd}
    token = held.token if held else None
    row = await ResultRepository(session, scope).end(result_id, values, token)
    if row is None:
        return None
    evaluation.cost += ended.cost_usd
    await finish.complete_if_scored(session, scope, evaluation)
    return row


def _key(held: Claimed) -> dict[str, Any]:
    return {"account_id": held.account_id, "id": held.result_id, "token": held.token}
