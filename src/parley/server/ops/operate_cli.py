"""Commands for accounts, money, plans and runs. What they need is imported by the command that runs."""

from __future__ import annotations

import asyncio
from decimal import Decimal, InvalidOperation
from typing import Annotated, Literal
from uuid import UUID

import typer

from parley.server.ops.plain_errors import plainly

AccountId = Annotated[UUID, typer.Argument(help="Id of the account.")]

plans = typer.Typer(no_args_is_help=True, help="See and edit plans.")
runs = typer.Typer(no_args_is_help=True, help="Find and release runs that do not come on.")
money = typer.Typer(no_args_is_help=True, help="Move money, and audit the books.")


def register(app: typer.Typer, accounts: typer.Typer, keys: typer.Typer, panel: str) -> None:
    """Add these commands to the operators' command line."""
    app.add_typer(money, name="money", rich_help_panel=panel)
    app.add_typer(plans, name="plans", rich_help_panel=panel)
    app.add_typer(runs, name="runs", rich_help_panel=panel)
    accounts.command("list")(list_accounts)
    accounts.command("show")(show_account)
    accounts.command("suspend")(suspend)
    accounts.command("unsuspend")(unsuspend)
    accounts.command("plan")(change_plan)
    accounts.command("limits")(set_limits)
    accounts.command("usage")(show_usage)
    keys.command("revoke")(revoke_key)


def list_accounts(
    search: Annotated[str | None, typer.Option(help="Part of the name.")] = None,
    most: Annotated[int, typer.Option(help="Lines at most.", min=1, max=1000)] = 50,
) -> None:
    """List accounts, newest first: id, plan, status, balance, name.

    Example:

      parley accounts list --search example
    """
    from parley.server.ops import operate

    with plainly():
        for line in asyncio.run(operate.list_accounts(search, most)):
            typer.echo(f"{line.id}  {line.plan:<6} {line.status:<9} {line.balance:>16.9f}  {line.name}")


def show_account(account: AccountId) -> None:
    """Show what an account may do, and what of it is used.

    Example:

      parley accounts show 0199f0c4-0000-7000-8000-000000000000
    """
    from parley.server.ops import operate

    with plainly():
        typer.echo(asyncio.run(operate.limits(account)).model_dump_json(indent=2))


def suspend(account: AccountId) -> None:
    """Suspend an account: nothing starts, open runs end before their next turn.

    Example:

      parley accounts suspend 0199f0c4-0000-7000-8000-000000000000
    """
    from parley.server.ops import operate

    with plainly():
        asyncio.run(operate.set_status(account, "suspended"))
        typer.echo("The account is suspended.")


def unsuspend(account: AccountId) -> None:
    """Let a suspended account go on.

    Example:

      parley accounts unsuspend 0199f0c4-0000-7000-8000-000000000000
    """
    from parley.server.ops import operate

    with plainly():
        asyncio.run(operate.set_status(account, "active"))
        typer.echo("The account is active.")


def change_plan(
    account: AccountId,
    plan: Annotated[str, typer.Argument(help="Code of the plan; see `parley plans list`.")],
) -> None:
    """Put an account on another plan.

    Example:

      parley accounts plan 0199f0c4-0000-7000-8000-000000000000 pro
    """
    from parley.server.ops import operate

    with plainly():
        asyncio.run(operate.set_plan(account, plan))
        typer.echo(f"The account is on plan {plan}.")


def set_limits(
    account: AccountId,
    runs_per_minute: Annotated[
        int | None,
        typer.Option(help="New runs in any 60 seconds; else as the plan says.", min=1, max=1_000_000),
    ] = None,
    concurrent_runs: Annotated[
        int | None, typer.Option(help="Runs at once; else as the plan says.", min=1, max=10_000)
    ] = None,
) -> None:
    """Give an account limits of its own in place of its plan's. Without options they are taken back.

    Examples:

      parley accounts limits 0199f0c4-0000-7000-8000-000000000000 --runs-per-minute 120

      parley accounts limits 0199f0c4-0000-7000-8000-000000000000
    """
    from parley.server.operators.accounts import OwnLimits
    from parley.server.ops import operate

    limits = OwnLimits(runs_per_minute=runs_per_minute, concurrent_runs=concurrent_runs)
    with plainly():
        asyncio.run(operate.set_limits(account, limits))
        shown = {"new runs per minute": runs_per_minute, "runs at once": concurrent_runs}
        for name, value in shown.items():
            typer.echo(f"{name:<20} {'as its plan says' if value is None else value}")


def show_usage(
    account: AccountId,
    start: Annotated[str | None, typer.Option(help="First day or time; 30 days before the end.")] = None,
    end: Annotated[str | None, typer.Option(help="First day or time left out; now.")] = None,
    form: Annotated[Literal["json", "csv"], typer.Option("--format", help="json or csv.")] = "csv",
) -> None:
    """Show what an account used, by day, role, llm and test.

    Example:

      parley accounts usage 0199f0c4-0000-7000-8000-000000000000 --start 2027-01-01 --end 2027-02-01
    """
    from parley.server.billing.sheet import usage_csv
    from parley.server.ops import operate

    with plainly():
        report = asyncio.run(operate.usage(account, start, end))
        typer.echo(
            usage_csv(report) if form == "csv" else report.model_dump_json(indent=2), nl=form == "json"
        )


def revoke_key(account: AccountId, key: Annotated[UUID, typer.Argument(help="Id of the key.")]) -> None:
    """Revoke a key of an account; everywhere within 10 seconds.

    Example:

      parley keys revoke 0199f0c4-0000-7000-8000-000000000000 0199f0c4-0000-7000-8000-000000000001
    """
    from parley.server.ops import operate

    with plainly():
        asyncio.run(operate.revoke_key(account, key))
        typer.echo("The key is revoked.")


@money.command("credit")
def credit(
    account: AccountId,
    amount: Annotated[str, typer.Argument(help="US dollars, above zero.")],
    note: Annotated[str, typer.Option(help="For the ledger.")] = "credit",
) -> None:
    """Give credit; prints the balance afterwards.

    Example:

      parley money credit 0199f0c4-0000-7000-8000-000000000000 25 --note "invoice 1041"
    """
    with plainly():
        dollars = _dollars(amount)
        if dollars <= 0:
            raise ValueError("Credit is above zero; `parley money adjust` takes away.")
        _move(account, dollars, note, "credit")


@money.command("adjust", context_settings={"ignore_unknown_options": True})
def adjust(
    account: AccountId,
    amount: Annotated[str, typer.Argument(help="US dollars; negative takes away.")],
    note: Annotated[str, typer.Option(help="Why.")],
) -> None:
    """Correct a balance; prints it afterwards.

    Example:

      parley money adjust 0199f0c4-0000-7000-8000-000000000000 -1.50 --note "refund of 3 May"
    """
    with plainly():
        _move(account, _dollars(amount), note, "adjustment")


@money.command("check")
def check_books() -> None:
    """Audit the books: every balance is the sum of its ledger. Exit code 1 if one is not.

    Example:

      parley money check
    """
    from parley.server.ops import operate

    with plainly():
        found = asyncio.run(operate.check_books())
        for one in found:
            typer.echo(f"{one.account_id}  balance {one.balance:.9f}  ledger {one.ledger:.9f}")
        if found:
            raise typer.Exit(1)
        typer.echo("Every balance is the sum of its ledger.")


@plans.command("list")
def list_plans() -> None:
    """List plans and their terms, one JSON object a line.

    Example:

      parley plans list
    """
    from parley.server.operators.schemas import PlanAnswer
    from parley.server.ops import operate

    with plainly():
        for plan in asyncio.run(operate.list_plans()):
            typer.echo(PlanAnswer.model_validate(plan).model_dump_json())


@plans.command("edit")
def edit_plan(
    code: Annotated[str, typer.Argument(help="Code of the plan.")],
    changes: Annotated[list[str], typer.Argument(help="term=value; null is no limit.")],
) -> None:
    """Change terms of a plan, for starts from now on.

    Examples:

      parley plans edit free runs_per_minute=10 concurrent_runs=2

      parley plans edit max metered=false runs_per_minute=null
    """
    from parley.server.kit.strictjson import UnreadableJsonError, read
    from parley.server.operators.schemas import PlanAnswer, PlanChange
    from parley.server.ops import operate

    with plainly():
        asked: dict[str, object] = {}
        for change in changes:
            term, separator, value = change.partition("=")
            if not separator or term not in PlanChange.model_fields:
                raise ValueError(
                    f"{change!r} is no term=value; terms are {', '.join(PlanChange.model_fields)}."
                )
            try:
                asked[term] = read(value.encode())
            except UnreadableJsonError:
                raise ValueError(f"{term} wants a number, true, false or null, not {value!r}.") from None
        edited = asyncio.run(operate.edit_plan(code, PlanChange.model_validate(asked).changes()))
        typer.echo(PlanAnswer.model_validate(edited).model_dump_json())


@runs.command("stuck")
def stuck_runs(
    quiet_s: Annotated[
        float, typer.Option("--quiet", help="Without an entry for so long, seconds.", min=0)
    ] = 300,
    most: Annotated[int, typer.Option(help="Lines at most.", min=1, max=1000)] = 100,
) -> None:
    """List runs that hold a slot and do not come on: id, account, state, seconds, whether a worker has it.

    Example:

      parley runs stuck --quiet 600
    """
    from parley.server.ops import operate

    with plainly():
        found = asyncio.run(operate.list_stuck_runs(quiet_s, most))
        if not found:
            typer.echo("none")
        for run in found:
            held = "held" if run.has_worker else "free"
            typer.echo(f"{run.id}  {run.account_id}  {run.state:<7} {run.quiet_s:>8.0f} s  {held}")


@runs.command("release")
def release_run(run: Annotated[UUID, typer.Argument(help="Id of the run.")]) -> None:
    """Take a run from whoever holds it; another worker goes on after its last kept entry.

    Example:

      parley runs release 0199f0c4-0000-7000-8000-000000000000
    """
    from parley.server.ops import operate

    with plainly():
        asyncio.run(operate.release_run(run))
        typer.echo("The run is free for any worker.")


def _move(account: UUID, amount: Decimal, note: str, source: Literal["credit", "adjustment"]) -> None:
    from parley.server.ops import operate

    typer.echo(f"{asyncio.run(operate.move(account, amount, note, source)):.9f}")


def _dollars(amount: str) -> Decimal:
    from parley.server.operators.schemas import MOST_USD

    try:
        dollars = Decimal(amount)
    except InvalidOperation:
        raise ValueError(f"{amount!r} is not an amount of dollars.") from None
    if not dollars.is_finite() or abs(dollars) > MOST_USD:
        raise ValueError(f"At most {MOST_USD} US dollars are moved at once.")
    return dollars
