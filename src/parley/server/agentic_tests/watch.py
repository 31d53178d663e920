"""What a test remembers of its runs, read and written by whoever reacts to their ends.

Writing it is no change of the test: `updated_at` stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.notifications.policy import Health, Wishes

# The weakest lock that keeps others out, so that runs of a held test can be stored meanwhile.
_HOLD = text("""
SELECT name, deleted_at IS NULL AS is_live, failure_notification, notification_threshold,
       recovery_notification, outcome_notification, consecutive_failures, failing_since, alerted_at,
       last_outcome, outcome_alerted_at
  FROM agentic_tests WHERE account_id = :account_id AND id = :id
   FOR NO KEY UPDATE SKIP LOCKED
""")

_EXISTS = text("SELECT true FROM agentic_tests WHERE account_id = :account_id AND id = :id")

_REMEMBER = text("""
UPDATE agentic_tests SET consecutive_failures = :failures, failing_since = :failing_since,
       alerted_at = :alerted_at, last_outcome = :last_outcome, outcome_alerted_at = :outcome_alerted_at,
       last_notification_at = CASE WHEN :was_told THEN now() ELSE last_notification_at END
 WHERE account_id = :account_id AND id = :id
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A test that the transaction holds."""

    name: str
    is_live: bool
    """False once it is deleted."""
    wishes: Wishes
    health: Health


async def hold(session: Session, scope: AccountScope, test_id: UUID) -> Watched | None:
    """Hold a test to the end of the transaction. None if somebody else does, or if it is gone."""
    row = (await session.execute(_HOLD, {"account_id": scope.account_id, "id": test_id})).one_or_none()
    if row is None:
        return None
    return Watched(
        name=row.name,
        is_live=row.is_live,
        wishes=Wishes(
            failure=row.failure_notification,
            threshold=row.notification_threshold,
            recovery=row.recovery_notification,
            outcome=row.outcome_notification,
        ),
        health=Health(
            failures=row.consecutive_failures,
            failing_since=row.failing_since,
            alerted_at=row.alerted_at,
            last_outcome=row.last_outcome,
            outcome_alerted_at=row.outcome_alerted_at,
        ),
    )


async def is_gone(session: Session, scope: AccountScope, test_id: UUID) -> bool:
    """Whether the test's row was removed."""
    return await session.scalar(_EXISTS, {"account_id": scope.account_id, "id": test_id}) is None


async def remember(
    session: Session, scope: AccountScope, test_id: UUID, health: Health, *, was_told: bool
) -> None:
    """Write a held test's health, and that somebody was told of it now."""
    values = {
        "account_id": scope.account_id,
        "id": test_id,
        "failures": health.failures,
        "failing_since": health.failing_since,
        "alerted_at": health.alerted_at,
        "last_outcome": health.last_outcome,
        "outcome_alerted_at": health.outcome_alerted_at,
        "was_told": was_told,
    }
    await session.execute(_REMEMBER, values)
