"""SQL of reports and of the audit over the ledger."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, select, text

from parley.server.billing.parts import USAGE_PARTS, UsagePart
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import Account

_USAGE = text("""
SELECT used.*, agentic_tests.name AS test_name
  FROM (
    SELECT CASE WHEN :by_day THEN (created_at AT TIME ZONE 'UTC')::date END AS day,
           CASE WHEN :by_role THEN role END AS role,
           CASE WHEN :by_model THEN llm END AS model,
           CASE WHEN :by_test THEN test_id END AS test_id,
           count(*) AS inferences, count(*) FILTER (WHERE estimated) AS estimated,
           sum(prompt_tokens)::bigint AS prompt_tokens,
           sum(cached_prompt_tokens)::bigint AS cached_prompt_tokens,
           sum(completion_tokens)::bigint AS completion_tokens, -sum(amount) AS cost
      FROM ledger
     WHERE account_id = :account_id AND role IS NOT NULL
       AND created_at >= :time_start AND created_at < :time_end
     GROUP BY 1, 2, 3, 4
  ) AS used
  LEFT JOIN agentic_tests ON agentic_tests.account_id = :account_id AND agentic_tests.id = used.test_id
 ORDER BY used.day, used.role, used.model, used.test_id
 LIMIT :most
""")

# One statement, so one moment: balance and ledger only ever change together.
_DIFFERENCES = text("""
SELECT accounts.id AS account_id, accounts.balance, coalesce(sums.amount, 0) AS ledger
  FROM accounts
  LEFT JOIN (SELECT account_id, sum(amount) AS amount FROM ledger GROUP BY account_id) AS sums
    ON sums.account_id = accounts.id
 WHERE accounts.balance IS DISTINCT FROM coalesce(sums.amount, 0)
 ORDER BY accounts.id
""")


class LedgerRepository:
    """Reads the ledger of one account."""

    def __init__(self, session: Session, scope: AccountScope) -> None:
        self._session = session
        self._account_id = scope.account_id

    async def usage(
        self, time_start: datetime, time_end: datetime, by: Collection[UsagePart], most: int
    ) -> Sequence[Row[Any]]:
        """What was used from one time to before the other; what it is not told apart by is null."""
        values: dict[str, Any] = {
            **{f"by_{part}": part in by for part in USAGE_PARTS},
            "account_id": self._account_id,
            "time_start": time_start,
            "time_end": time_end,
            "most": most,
        }
        return (await self._session.execute(_USAGE, values)).all()

    async def account(self) -> Account | None:
        """The account."""
        return await self._session.scalar(select(Account).where(Account.id == self._account_id))


async def differences(session: Session) -> Sequence[tuple[UUID, Any, Any]]:
    """Account, balance and ledger's sum wherever the two differ; of all accounts, for the audit."""
    return [(row.account_id, row.balance, row.ledger) for row in await session.execute(_DIFFERENCES)]
