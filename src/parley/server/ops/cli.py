"""Operator commands. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

import pkgutil
from pathlib import Path
from typing import Annotated, Literal, TypeAlias
from uuid import UUID

import typer

from parley.server.ops import operate_cli, secrets_cli
from parley.server.ops.plain_errors import plainly

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
accounts = typer.Typer(no_args_is_help=True, help="Make, see and change accounts.")
keys = typer.Typer(no_args_is_help=True, help="Make and revoke API keys.")
_TRY, _OPERATE = "Try it", "Operate"
app.add_typer(accounts, name="accounts", rich_help_panel=_OPERATE)
app.add_typer(keys, name="keys", rich_help_panel=_OPERATE)
app.add_typer(secrets_cli.secrets, name="secrets", rich_help_panel=_OPERATE)
operate_cli.register(app, accounts, keys, _OPERATE)

_MARKS = {"good": ("✓", "green"), "warning": ("!", "yellow"), "bad": ("✗", "red")}


Plan: TypeAlias = Literal["free", "pro", "max"]
Kind: TypeAlias = Literal["private", "public"]


@app.command(rich_help_panel=_TRY)
def dev(
    port: Annotated[int, typer.Option(help="Port of the API on 127.0.0.1.", min=1, max=65535)] = 8000,
    data_dir: Annotated[Path, typer.Option(help="Where everything is kept.")] = Path(".parley"),
    demo: Annotated[
        bool, typer.Option("--demo", help="Run the three demo tests and show them live.")
    ] = False,
    exit_after_demo: Annotated[
        bool,
        typer.Option(
            "--exit-after-demo", envvar="PARLEY_DEMO_EXIT", help="With --demo: end after the last verdict."
        ),
    ] = False,
    demo_llms: Annotated[
        bool, typer.Option("--demo-llms/--no-demo-llms", help="Start the scripted llms (no key, no network).")
    ] = True,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show the logs of all processes.")] = False,
) -> None:
    """Run the whole service on this machine: databases, API, worker, demo llms. Ctrl-C stops all of it.

    Data stays in the data folder. Scripts find address and keys in [bold].parley/dev.json[/bold].

    PARLEY_DATABASE_URL and PARLEY_REDIS_URL name servers to use instead of the embedded ones;
    PARLEY_LLM_BASE_URL, PARLEY_LLM_API_KEY and PARLEY_PROFILE_LOW_USER, ..._LOW_JUDGE name real llms.

    Examples:

      parley dev

      parley dev --demo --port 8100

      PARLEY_LLM_BASE_URL=https://llm.example/v1 PARLEY_LLM_API_KEY=... parley dev --no-demo-llms
    """
    from parley.server.ops.local.stack import StackOptions, run_stack

    options = StackOptions(
        port=port,
        folder=data_dir,
        demo=demo,
        exit_after_demo=exit_after_demo,
        demo_llms=demo_llms,
        verbose=verbose,
    )
    with plainly():
        raise typer.Exit(run_stack(options))


@app.command(rich_help_panel=_OPERATE)
def api() -> None:
    """Serve the HTTP API until told to stop (SIGTERM or Ctrl-C). Settings come from the environment.

    Example:

      PARLEY_API_HOST=0.0.0.0 PARLEY_SECRET_KEYS=... parley api
    """
    from parley.server.config import ApiSettings, variable
    from parley.server.ops.local import ports

    with plainly():
        settings = ApiSettings()
        if not ports.is_free(settings.port, settings.host):
            raise ValueError(ports.busy_port_text(settings.port, f"{variable(ApiSettings, 'port')}="))
    _start("parley.server.api.serve:run")


@app.command(rich_help_panel=_OPERATE)
def worker() -> None:
    """Execute runs until told to stop (SIGTERM or Ctrl-C). Start as many as you need.

    Example:

      PARLEY_WORKER_CONCURRENCY=200 parley worker
    """
    _start("parley.server.worker.main:main")


@app.command(rich_help_panel=_OPERATE)
def migrate() -> None:
    """Bring the database to this release. Safe to run twice, and from several machines at once.

    Example:

      PARLEY_DATABASE_URL=postgresql://... parley migrate
    """
    from parley.server.config import DatabaseSettings
    from parley.server.db.migrate import head, upgrade

    with plainly():
        upgrade(DatabaseSettings().url.get_secret_value())
        typer.echo(f"The database is at revision {head()}.")


@accounts.command("create")
def create_account(
    name: Annotated[str, typer.Argument(help="Name of the account.")],
    plan: Annotated[Plan, typer.Option(help="Its limits and prices.")] = "free",
    credit: Annotated[float, typer.Option(help="First credit, US dollars.", min=0, max=1_000_000)] = 0.0,
) -> None:
    """Make an account with its first keys. They are shown this once.

    Example:

      parley accounts create "Example Ltd" --plan pro --credit 50
    """
    import asyncio
    from decimal import Decimal

    from parley.server.ops.accounts import make_account

    with plainly():
        made = asyncio.run(make_account(_named(name), plan, Decimal(str(credit))))
        typer.echo(f"account      {made.account_id}")
        typer.echo(f"private key  {made.private_key}")
        typer.echo(f"public key   {made.public_key}")


@accounts.command("retention")
def account_retention(
    account: Annotated[UUID, typer.Argument(help="Id of the account.")],
    days: Annotated[
        int | None, typer.Option(help="Keep runs for so many days from their end.", min=1, max=36_500)
    ] = None,
    default: Annotated[bool, typer.Option("--default", help="Keep them as everyone's.")] = False,
) -> None:
    """Say how long the runs of an account are kept, or change it. The next pass of retention follows it.

    Examples:

      parley accounts retention 0199f0c4-0000-7000-8000-000000000000 --days 365

      parley accounts retention 0199f0c4-0000-7000-8000-000000000000 --default
    """
    import asyncio

    from parley.server.ops.retention import keep, kept

    with plainly():
        if days is not None and default:
            raise ValueError("Say --days or --default, not both.")
        if days is not None or default:
            asyncio.run(keep(account, days))
        typer.echo(asyncio.run(kept(account)))


@keys.command("create")
def create_key(
    account: Annotated[UUID, typer.Argument(help="Id of the account.")],
    kind: Annotated[Kind, typer.Option(help="A public key may only ask who it is.")] = "private",
    name: Annotated[str, typer.Option(help="What the key is for.")] = "made by an operator",
) -> None:
    """Make another key of an account. It is shown this once, alone on its line.

    Example:

      parley keys create 0199f0c4-0000-7000-8000-000000000000 --kind public
    """
    import asyncio

    from parley.server.ops.accounts import make_key

    with plainly():
        typer.echo(asyncio.run(make_key(account, _named(name), kind)))


@app.command(rich_help_panel=_OPERATE)
def retention(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell what would go, by account and state; change nothing.")
    ] = False,
) -> None:
    """Remove what is old now, as the workers do by themselves. Safe to cut, and to run beside them.

    Examples:

      parley retention --dry-run

      PARLEY_RETENTION_RUN_DAYS=14 parley retention --dry-run
    """
    import asyncio

    with plainly():
        asyncio.run(_look_at_retention() if dry_run else _remove_what_is_old())


@app.command(rich_help_panel=_OPERATE)
def doctor() -> None:
    """Look at everything an installation stands on, and say what to do. Exit code 1 if something is wrong.

    Examples:

      parley doctor

      set -a; . .parley/stack.env; parley doctor
    """
    import asyncio

    with plainly():
        if not asyncio.run(_examine()):
            raise typer.Exit(1)


def _start(shell: str) -> None:
    """Run another shell in this process. The shells stand side by side: they know no more than a name."""
    with plainly():
        pkgutil.resolve_name(shell)()


async def _look_at_retention() -> None:
    from parley.server.ops.retention import look

    async for line in look():
        typer.echo(line)


async def _remove_what_is_old() -> None:
    from parley.server.ops.retention import remove

    done = await remove()
    for kind, count in done.removed.items():
        typer.echo(f"{count:>9}  {kind}")
    if done.faults:
        raise ValueError("Not everything that is old could be removed; the faults are in the log above.")


async def _examine() -> bool:
    """Print every finding. Whether none is bad."""
    from parley.server.config import Settings
    from parley.server.ops.doctor import examine

    is_well = True
    async for finding in examine(Settings.load()):
        mark, color = _MARKS[finding.state]
        typer.echo(f"{typer.style(mark, fg=color)} {finding.about:<16} {finding.text}")
        is_well = is_well and finding.state != "bad"
    return is_well


def _named(name: str) -> str:
    from parley.engine.blank import is_blank

    if is_blank(name) or len(name.strip()) > 200:
        raise ValueError("A name has 1 to 200 characters, and can be seen.")
    return name.strip()


if __name__ == "__main__":
    app()
