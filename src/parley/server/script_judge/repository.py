"""SQL of grades: who holds one, and how many a key has asked for."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import delete, func, select, text, tuple_

from parley.server.db.repository import AccountScope, Repository, SystemScope
from parley.server.db.session import Session
from parley.server.db.tables import Grade

# Held by nobody: new, failed, or left by a process that is gone.
_TAKE = text("""
INSERT INTO grades (account_id, id, key_id, judge, state, lease_token, lease_until, asked_at)
VALUES (:account_id, :id, :key_id, :judge, 'running', :token,
        clock_timestamp() + make_interval(secs => :lease_s), clock_timestamp())
ON CONFLICT (account_id, id) DO UPDATE
   SET state = 'running', lease_token = excluded.lease_token, lease_until = excluded.lease_until,
       asked_at = excluded.asked_at, updated_at = now()
 WHERE grades.state = 'failed' OR (grades.state = 'running' AND grades.lease_until < clock_timestamp())
RETURNING id
""")

_WINDOW = text("""
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now)
SELECT count(*) AS asked,
       ceil(extract(epoch FROM min(asked_at) + interval '60 seconds' - max(clock.now)))::int AS frees_in_s
  FROM grades, clock
 WHERE account_id = :account_id AND key_id = :key_id AND asked_at > clock.now - interval '60 seconds'
""")


class Window(NamedTuple):
    """Grades that a key asked for in the last 60 seconds, and when one of them counts no more, seconds."""

    asked: int
    frees_in_s: int | None


class GradeRepository(Repository[Grade]):
    """The grades of an account."""

    table = Grade

    def __init__(self, session: Session, scope: AccountScope) -> None:
        super().__init__(session, scope)
        self._account_id = scope.account_id

    async def window(self, key_id: UUID) -> Window:
        """What a key has asked for. The account's row is locked, so that nobody asks meanwhile."""
        row = (await self.session.execute(_WINDOW, {"account_id": self._account_id, "key_id": key_id})).one()
        return Window(row.asked, row.frees_in_s)

    async def take(self, grade_id: UUID, key_id: UUID, judge: str, token: UUID, lease_s: float) -> bool:
        """Hold a grade for `lease_s`. False while another holds it, and once it was answered."""
        values = {
            "account_id": self._account_id,
            "id": grade_id,
            "key_id": key_id,
            "judge": judge,
            "token": token,
            "lease_s": lease_s,
        }
        return (await self.session.scalar(_TAKE, values)) is not None

    async def held(self, grade_id: UUID, token: UUID) -> Grade | None:
        """The grade, locked, if `token` still holds it."""
        mine = self.rows().where(Grade.id == grade_id, Grade.lease_token == token)
        row: Grade | None = await self.session.scalar(mine.with_for_update())
        return row

    async def answer(self, grade_id: UUID) -> dict[str, Any] | None:
        """What a grade was answered; None while it was not."""
        found: dict[str, Any] | None = await self.session.scalar(
            self.narrow(select(Grade.answer)).where(Grade.id == grade_id)
        )
        return found


async def delete_older(session: Session, _scope: SystemScope, kept_for: timedelta, limit: int) -> int:
    """Delete at most `limit` grades of any account that are older than `kept_for`."""
    key = tuple_(Grade.account_id, Grade.id)
    old = select(Grade.account_id, Grade.id).where(Grade.created_at < func.now() - kept_for).limit(limit)
    deleted = await session.execute(delete(Grade).where(key.in_(old)).returning(Grade.id))
    return len(deleted.all())
