"""Plans, as operators edit them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TypeAlias

from parley.server.billing.plans import PlanTerms, terms_of
from parley.server.db.session import Session
from parley.server.errors import NotFound
from parley.server.operators.acts import Via, record
from parley.server.operators.repository import OperatorRepository

PlanValue: TypeAlias = int | Decimal | bool | None


async def list_plans(session: Session) -> Sequence[PlanTerms]:
    """All plans."""
    return [terms_of(plan) for plan in await OperatorRepository(session).plans()]


async def edit_plan(session: Session, via: Via, code: str, changes: Mapping[str, PlanValue]) -> PlanTerms:
    """Change terms of a plan, for starts from now on; a run's prices are those of its start.

    More slots are filled by the next sweep. Raises `NotFound`.
    """
    plan = await OperatorRepository(session).plan(code, lock=True)
    if plan is None:
        raise NotFound("There is no such plan.")
    for name, value in changes.items():
        setattr(plan, name, value)
    await session.flush()
    await record(session, via, "plan.edit", None, code=code, **changes)
    return terms_of(plan)
