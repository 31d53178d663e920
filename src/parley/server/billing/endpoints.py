"""`/api/v1/information`: balance and usage."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Query, Response

from parley.server.accounts.authenticator import Caller
from parley.server.accounts.callers import requires
from parley.server.billing.funds import balance_of
from parley.server.billing.schemas import BalanceAnswer, UsageReport
from parley.server.billing.sheet import usage_csv
from parley.server.billing.usage import usage_report
from parley.server.db.dependencies import SessionDep
from parley.server.errors import AccountSuspended, InvalidRequest, PublicKeyRefused, ScopeMissing
from parley.server.kit.clock import utc_now
from parley.server.kit.docs import answers_with
from parley.server.kit.requests import room_router
from parley.server.kit.schemas import Reply

router = room_router("/information", "account")

AccountReader = Annotated[Caller, requires("account:read")]
UsageFormat = Annotated[Literal["json", "csv"], Query(description="csv answers a file for spreadsheets.")]
TimeStart = Annotated[
    str | None,
    Query(description="First day (UTC) or time with offset; 30 days before the end by default."),
]
TimeEnd = Annotated[
    str | None, Query(description="First day or time that is not in the report; now by default.")
]
By = Annotated[
    str | None,
    Query(
        description="What lines are told apart by, of day, role, model, test; all by default.",
        examples=["day,role"],
    ),
]

_CSV: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "The report."}
}
_REFUSALS = (InvalidRequest, PublicKeyRefused, ScopeMissing, AccountSuspended)


@router.get("/balance", summary="Balance", responses=answers_with(*_REFUSALS[1:]))
async def balance(caller: AccountReader, session: SessionDep) -> Reply[BalanceAnswer]:
    """What the account has left, in US dollars. Starts need more than zero, unless the plan is unmetered."""
    return Reply(data=await balance_of(session, caller.scope))


@router.get(
    "/usage",
    summary="Usage",
    response_model=Reply[UsageReport],
    responses={**_CSV, **answers_with(*_REFUSALS)},
)
async def usage(
    caller: AccountReader,
    session: SessionDep,
    time_start: TimeStart = None,
    time_end: TimeEnd = None,
    by: By = None,
    format: UsageFormat = "json",
) -> Reply[UsageReport] | Response:
    """What was used and charged, by day, role, llm and test, or by some of them."""
    return shown(await usage_report(session, caller.scope, time_start, time_end, utc_now(), by), format)


def shown(report: UsageReport, format: Literal["json", "csv"]) -> Reply[UsageReport] | Response:
    """A report as it was asked for."""
    if format == "json":
        return Reply(data=report)
    named = {"Content-Disposition": 'attachment; filename="usage.csv"'}
    return Response(usage_csv(report), media_type="text/csv; charset=utf-8", headers=named)
