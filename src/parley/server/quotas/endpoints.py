"""`/api/v1/limits`."""

from __future__ import annotations

from typing import Annotated

from parley.server.accounts.authenticator import Caller
from parley.server.accounts.callers import requires
from parley.server.db.dependencies import SessionDep
from parley.server.errors import AccountSuspended, PublicKeyRefused
from parley.server.kit.docs import answers_with
from parley.server.kit.requests import room_router
from parley.server.kit.schemas import Reply
from parley.server.quotas.report import limits_of
from parley.server.quotas.schemas import LimitsAnswer

router = room_router("/limits", "account")

PrivateCaller = Annotated[Caller, requires()]


@router.get(
    "",
    summary="Plan and limits",
    responses=answers_with(PublicKeyRefused, AccountSuspended),
)
async def limits(caller: PrivateCaller, session: SessionDep) -> Reply[LimitsAnswer]:
    """The account's plan, its limits, and what of them is used now. Any private key may ask."""
    return Reply(data=await limits_of(session, caller.scope))
