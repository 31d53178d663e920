"""`/admin/v1/accounts/{id}/retention`: two rooms that do not know each other, retention and operators."""

from __future__ import annotations

from fastapi import APIRouter, Depends
from pydantic import Field

from parley.server.db.dependencies import SessionDep
from parley.server.kit.requests import PathId, StrictRoute
from parley.server.kit.schemas import Answer, Body, Reply
from parley.server.operators.acts import record
from parley.server.operators.token import operator_only
from parley.server.retention.overrides import override_of, set_override
from parley.server.retention.policy import LONGEST_DAYS, SHORTEST_DAYS

router = APIRouter(
    prefix="/admin/v1/accounts/{account_id}/retention",
    tags=["operators"],
    route_class=StrictRoute,
    strict_content_type=False,
    dependencies=[Depends(operator_only)],
)


class KeptFor(Body):
    """How long the runs of one account are kept."""

    days: int | None = Field(
        ge=SHORTEST_DAYS,
        le=LONGEST_DAYS,
        description="Days from the end of a succeeded or failed run; null: as everyone's.",
        examples=[365],
    )


class KeptForAnswer(Answer):
    """How long the runs of one account are kept."""

    days: int | None = Field(description="Null: as everyone's.")


@router.get("", summary="Read how long an account's runs are kept")
async def read_retention(account_id: PathId, session: SessionDep) -> Reply[KeptForAnswer]:
    """What stands in for everyone's time."""
    return Reply(data=KeptForAnswer(days=await override_of(session, account_id)))


@router.put("", summary="Keep an account's runs for another time")
async def set_retention(account_id: PathId, body: KeptFor, session: SessionDep) -> Reply[KeptForAnswer]:
    """Holds from the next pass of retention on. Look before you shorten: what was removed stays so."""
    before = await override_of(session, account_id)
    await set_override(session, account_id, body.days)
    await record(session, "api", "account.retention", account_id, days=body.days, before=before)
    return Reply(data=KeptForAnswer(days=body.days))
