"""`/admin/v1`: what operators do, on an address and with a token of its own."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Response

from parley.server.accounts import service as accounts_service
from parley.server.accounts.authenticator import Authenticator
from parley.server.accounts.schemas import KeyAnswer, NewKeyAnswer
from parley.server.billing.audit import audit_books
from parley.server.billing.endpoints import TimeEnd, TimeStart, UsageFormat, shown
from parley.server.billing.schemas import UsageReport
from parley.server.billing.usage import usage_report
from parley.server.db.dependencies import SessionDep
from parley.server.db.repository import AccountScope
from parley.server.errors import InvalidRequest
from parley.server.kit.clock import utc_now
from parley.server.kit.ids import parse_id
from parley.server.kit.provide import provided
from parley.server.kit.requests import PagingDep, PathId, StrictRoute
from parley.server.kit.schemas import Listing, Reply
from parley.server.kit.text import is_storable
from parley.server.operators import accounts, money, plans, stuck_runs
from parley.server.operators.acts import list_acts
from parley.server.operators.schemas import (
    AccountChange,
    AccountCreate,
    AccountOverrides,
    AccountOverridesAnswer,
    ActAnswer,
    Adjustment,
    BookDifference,
    Credit,
    Moved,
    OpenedAccountAnswer,
    OperatedAccount,
    OperatorKey,
    PlanAnswer,
    PlanChange,
    StuckRunAnswer,
)
from parley.server.operators.token import operator_only
from parley.server.queue.jobs import RunQueue
from parley.server.quotas.report import limits_of
from parley.server.quotas.schemas import LimitsAnswer

router = APIRouter(
    prefix="/admin/v1",
    tags=["operators"],
    route_class=StrictRoute,
    strict_content_type=False,
    dependencies=[Depends(operator_only)],
)


@router.post("/accounts", status_code=201, summary="Make an account")
async def open_account(body: AccountCreate, session: SessionDep) -> Reply[OpenedAccountAnswer]:
    """Makes an account with its first keys. The answer shows them this once."""
    made = await accounts.open_account(session, "api", body.name, body.plan, body.credit, body.owner_email)
    shown_account = OperatedAccount.model_validate(made.account)
    return Reply(
        message="Keep these keys: they are not shown again.",
        data=OpenedAccountAnswer(
            **shown_account.model_dump(), private_key=made.private_key, public_key=made.public_key
        ),
    )


@router.get("/accounts", summary="List accounts")
async def list_accounts(
    session: SessionDep,
    paging: PagingDep,
    search: Annotated[str | None, Query(max_length=200, description="Part of the name.")] = None,
) -> Listing[OperatedAccount]:
    """Accounts, newest first."""
    if search is not None and not is_storable(search):
        raise InvalidRequest.field("search", "holds characters that no name has")
    rows, page = await accounts.list_accounts(session, search, paging)
    return Listing(data=[OperatedAccount.model_validate(row) for row in rows], page=page)


@router.get("/accounts/{account_id}", summary="Read an account")
async def read_account(account_id: PathId, session: SessionDep) -> Reply[OperatedAccount]:
    """One account."""
    found = await accounts_service.read_account(session, account_id)
    return Reply(data=OperatedAccount.model_validate(found))


@router.patch("/accounts/{account_id}", summary="Change an account's plan")
async def change_account(
    account_id: PathId, body: AccountChange, session: SessionDep
) -> Reply[OperatedAccount]:
    """Puts the account on another plan."""
    changed = await accounts.set_plan(session, "api", account_id, body.plan)
    await session.refresh(changed)
    return Reply(data=OperatedAccount.model_validate(changed))


@router.post("/accounts/{account_id}/suspend", summary="Suspend an account")
async def suspend(account_id: PathId, session: SessionDep) -> Reply[OperatedAccount]:
    """Nothing starts any more; open runs end before their next turn, open streams within 10 seconds."""
    return await _with_status(session, account_id, "suspended")


@router.post("/accounts/{account_id}/unsuspend", summary="Let a suspended account go on")
async def unsuspend(account_id: PathId, session: SessionDep) -> Reply[OperatedAccount]:
    """Ends a suspension."""
    return await _with_status(session, account_id, "active")


async def _with_status(
    session: SessionDep, account_id: UUID, status: Literal["active", "suspended"]
) -> Reply[OperatedAccount]:
    changed = await accounts.set_status(session, "api", account_id, status)
    await session.refresh(changed)
    return Reply(data=OperatedAccount.model_validate(changed))


@router.get("/accounts/{account_id}/limits", summary="Read an account's limits")
async def limits(account_id: PathId, session: SessionDep) -> Reply[LimitsAnswer]:
    """What the account itself sees at `/api/v1/limits`."""
    return Reply(data=await limits_of(session, AccountScope(account_id)))


@router.get("/accounts/{account_id}/overrides", summary="Read an account's own limits")
async def read_overrides(account_id: PathId, session: SessionDep) -> Reply[AccountOverridesAnswer]:
    """What stands in for the plan's limits."""
    account = await accounts_service.read_account(session, account_id)
    return Reply(data=AccountOverridesAnswer.model_validate(accounts.own_limits_of(account)))


@router.put("/accounts/{account_id}/overrides", summary="Give an account limits of its own")
async def set_overrides(
    account_id: PathId, body: AccountOverrides, session: SessionDep
) -> Reply[AccountOverridesAnswer]:
    """Replaces them all, for starts from now on; an empty object takes them back.

    They outlast a change of plan.
    """
    limits = accounts.OwnLimits(runs_per_minute=body.runs_per_minute, concurrent_runs=body.concurrent_runs)
    await accounts.set_limits(session, "api", account_id, limits)
    return Reply(data=AccountOverridesAnswer.model_validate(limits))


@router.get(
    "/accounts/{account_id}/usage", summary="Read an account's usage", response_model=Reply[UsageReport]
)
async def usage(
    account_id: PathId,
    session: SessionDep,
    time_start: TimeStart = None,
    time_end: TimeEnd = None,
    format: UsageFormat = "json",
) -> Reply[UsageReport] | Response:
    """What the account itself sees at `/api/v1/information/usage`."""
    await accounts_service.read_account(session, account_id)
    report = await usage_report(session, AccountScope(account_id), time_start, time_end, utc_now())
    return shown(report, format)


@router.post("/accounts/{account_id}/credits", status_code=201, summary="Give credit")
async def credit(account_id: PathId, body: Credit, session: SessionDep) -> Reply[Moved]:
    """Adds money to the balance, with its line in the ledger."""
    balance = await money.move(session, "api", account_id, body.amount, body.note, "credit", body.reference)
    return Reply(data=Moved(balance=balance))


@router.post("/accounts/{account_id}/adjustments", status_code=201, summary="Adjust a balance")
async def adjust(account_id: PathId, body: Adjustment, session: SessionDep) -> Reply[Moved]:
    """Corrects the balance, with its line in the ledger."""
    balance = await money.move(
        session, "api", account_id, body.amount, body.note, "adjustment", body.reference
    )
    return Reply(data=Moved(balance=balance))


@router.get("/accounts/{account_id}/keys", summary="List an account's keys")
async def list_keys(account_id: PathId, session: SessionDep, paging: PagingDep) -> Listing[KeyAnswer]:
    """The keys, newest first, revoked ones too."""
    await accounts_service.read_account(session, account_id)
    rows, page = await accounts_service.list_keys(session, AccountScope(account_id), paging)
    return Listing(data=[KeyAnswer.model_validate(row) for row in rows], page=page)


@router.post("/accounts/{account_id}/keys", status_code=201, summary="Make a key")
async def make_key(account_id: PathId, body: OperatorKey, session: SessionDep) -> Reply[NewKeyAnswer]:
    """Makes a key. The answer shows it this once."""
    made = await accounts.make_key(session, "api", account_id, body.name, body.kind, body.scopes)
    about = KeyAnswer.model_validate(made.row)
    return Reply(
        message="Keep this key: it is not shown again.",
        data=NewKeyAnswer(**about.model_dump(), key=made.token),
    )


@router.delete("/accounts/{account_id}/keys/{key_id}", status_code=204, summary="Revoke a key")
async def revoke_key(
    account_id: PathId,
    key_id: PathId,
    session: SessionDep,
    authenticator: Annotated[Authenticator, provided(Authenticator)],
) -> Response:
    """Revokes a key at once here, within 10 seconds everywhere."""
    await accounts.revoke_key(session, "api", account_id, key_id)

    async def forget() -> None:
        authenticator.forget(key_id)

    session.after_commit(forget)
    return Response(status_code=204)


@router.get("/plans", summary="List plans")
async def list_plans(session: SessionDep) -> Reply[list[PlanAnswer]]:
    """All plans."""
    return Reply(data=[PlanAnswer.model_validate(plan) for plan in await plans.list_plans(session)])


@router.patch("/plans/{code}", summary="Edit a plan")
async def edit_plan(code: str, body: PlanChange, session: SessionDep) -> Reply[PlanAnswer]:
    """Changes what is sent, for starts from now on."""
    return Reply(data=PlanAnswer.model_validate(await plans.edit_plan(session, "api", code, body.changes())))


@router.get("/runs/stuck", summary="List stuck runs")
async def list_stuck_runs(
    session: SessionDep,
    quiet_s: Annotated[
        float, Query(ge=0, le=10**9, description="Without a kept entry for so long, seconds.")
    ] = 300.0,
    limit: Annotated[int, Query(ge=1, le=1_000, description="Rows at most.")] = 100,
) -> Reply[list[StuckRunAnswer]]:
    """Runs that hold a slot and do not come on, quietest first."""
    found = await stuck_runs.list_stuck(session, quiet_s, limit)
    return Reply(data=[StuckRunAnswer.model_validate(run) for run in found])


@router.post("/runs/{run_id}/release", status_code=204, summary="Release a stuck run")
async def release_run(
    run_id: PathId, session: SessionDep, queue: Annotated[RunQueue, provided(RunQueue)]
) -> Response:
    """Takes the run from whoever holds it; another worker goes on after its last kept entry."""
    await stuck_runs.release(session, "api", run_id, queue)
    return Response(status_code=204)


@router.get("/acts", summary="List what operators did")
async def acts(
    session: SessionDep,
    paging: PagingDep,
    account_id: Annotated[str | None, Query(description="Only what concerned this account.")] = None,
) -> Listing[ActAnswer]:
    """Every act, newest first."""
    about = None if account_id is None else parse_id(account_id)
    if account_id is not None and about is None:
        raise InvalidRequest.field("account_id", "should be an id (a UUID string)")
    rows, page = await list_acts(session, about, paging)
    return Listing(data=[ActAnswer.model_validate(row) for row in rows], page=page)


@router.get("/books", summary="Audit the books")
async def books(session: SessionDep) -> Reply[list[BookDifference]]:
    """Every account whose balance is not the sum of its ledger. There should be none."""
    return Reply(data=[BookDifference.model_validate(one) for one in await audit_books(session)])
