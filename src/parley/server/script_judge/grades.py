"""One grade: admitted once, asked without holding the database, and paid once under its key."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from parley.engine.chat.pieces import Usage
from parley.engine.script.faults import JudgeFault
from parley.engine.script.ports import Graded
from parley.engine.script.rubric import GradeRequest
from parley.server.accounts.authenticator import Caller
from parley.server.billing.charges import Spent, charge_judge
from parley.server.billing.plans import PlanTerms
from parley.server.db.database import Database
from parley.server.db.repository import SystemScope
from parley.server.db.session import Session
from parley.server.errors import GradesLimited, JudgeFailed
from parley.server.idempotency.service import KEPT_FOR, claim
from parley.server.journal.keep import patiently
from parley.server.kit.ids import new_id
from parley.server.kit.money import ZERO_USD
from parley.server.llm.prices import Prices, cost_of
from parley.server.quotas.gate import enter
from parley.server.script_judge.answer import replied
from parley.server.script_judge.judge import MOST_S, ScriptJudges, Seat, watched
from parley.server.script_judge.repository import GradeRepository, delete_older
from parley.server.telemetry.watch import UNWATCHED, Watch

ROUTE: Final = "/api/v1/evals/grades"
LEASE_S: Final = MOST_S + 15.0
"""A grade is held longer than asking and writing it takes; then its process is gone."""
LOOK_S: Final = 0.25
"""Between two looks for what a twin of this request is answered."""
_LOOKS: Final = int(LEASE_S / LOOK_S)
_SPARE: Final = timedelta(hours=1)
"""A grade outlives its idempotency key by this much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeRules:
    """`per_minute`: grades that one key may ask for in any 60 seconds, 0 for any number."""

    per_minute: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request. `key` and `body` are what makes a repeat of it the same."""

    seat: Seat
    request: GradeRequest
    problem: str | None
    key: str
    body: bytes


@dataclass(slots=True, kw_only=True)
class _Held:
    """A grade that is ours to ask for, and what it has used."""

    grade_id: UUID
    token: UUID
    prices: Prices
    plan: PlanTerms
    spent: list[Spent] = field(default_factory=list)

    def spend(self, usage: Usage) -> Decimal:
        cost = cost_of(usage, self.prices, self.plan.multiplier)
        self.spent.append(Spent(usage=usage, amount=cost if self.plan.metered else ZERO_USD))
        return cost


class Grades:
    """Grades for apps that judge by this service."""

    def __init__(
        self, database: Database, judges: ScriptJudges, rules: GradeRules, watch: Watch = UNWATCHED
    ) -> None:
        self._database = database
        self._judges = judges
        self._rules = rules
        self._watch = watch

    async def grade(self, caller: Caller, asked: Asked) -> dict[str, Any]:
        """The answer to a request; to a repeat under its key the same, without asking or paying again.

        Raises `AccountSuspended`, `BalanceExhausted`, `GradesLimited`, `IdempotencyConflict`, and
        `JudgeFailed`, after which the same key may be tried again.
        """
        for _ in range(_LOOKS):
            found = await self._taken(caller, asked)
            if isinstance(found, dict):
                return found
            if found is not None:
                return await self._asked(caller, asked, found)
            await asyncio.sleep(LOOK_S)
        raise JudgeFailed("The judge is still being asked under this key; try again.")

    async def _taken(self, caller: Caller, asked: Asked) -> _Held | dict[str, Any] | None:
        """The grade, held; its answer, if it has one; None while a twin is asking."""
        async with self._database.session() as session:
            grade_id = await claim(
                session, caller.scope, route=ROUTE, key=asked.key, body=asked.body, new_id=new_id()
            )
            grades = GradeRepository(session, caller.scope)
            answered = await grades.answer(grade_id)
            if answered is not None:
                return answered
            entrant = await enter(session, caller.account_id)
            token, judge = new_id(), asked.seat.identity.id
            limit = self._rules.per_minute
            window = await grades.window(caller.key_id)
            if not await grades.take(grade_id, caller.key_id, judge, token, LEASE_S):
                return None
            if limit and window.asked >= limit:
                raise GradesLimited.over(limit, window.frees_in_s or 1)
            return _Held(grade_id=grade_id, token=token, prices=asked.seat.prices, plan=entrant.plan)

    async def _asked(self, caller: Caller, asked: Asked, held: _Held) -> dict[str, Any]:
        judge = self._judges.judge(watched(asked.seat, self._watch), held.spend)
        try:
            graded = await judge.grade(asked.request, asked.problem)
        except JudgeFault as fault:
            await self._settled(caller, held, None)
            raise JudgeFailed(fault.message) from fault
        except asyncio.CancelledError:
            await self._settled(caller, held, None)  # what was used is paid, whoever has gone
            raise
        return await self._settled(caller, held, _told(asked, graded))

    async def _settled(self, caller: Caller, held: _Held, answer: dict[str, Any] | None) -> dict[str, Any]:
        """Keep the answer (None: it failed) and pay for it, both or neither; waits for a database away."""

        async def write() -> None:
            async with self._database.session() as session:
                cost = await charge_judge(session, caller.account_id, "grade", held.grade_id, held.spent)
                row = await GradeRepository(session, caller.scope).held(held.grade_id, held.token)
                if row is None:
                    await session.rollback()  # somebody else answers it, and is paid for it
                    return
                row.state, row.answer = ("failed", None) if answer is None else ("answered", answer)
                row.lease_token = row.lease_until = None
                row.cost += cost

        await patiently(write)
        return answer or {}


async def forget_old_grades(session: Session, scope: SystemScope, limit: int = 1_000) -> int:
    """Delete grades that nobody can ask for again, at most `limit`; how many were deleted."""
    return await delete_older(session, scope, KEPT_FOR + _SPARE, limit)


def _told(asked: Asked, graded: Graded) -> dict[str, Any]:
    return replied(asked.request, graded).model_dump(mode="json", by_alias=True, exclude_none=True)
