"""Operator commands. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich", pretty_exceptions_enable=False)


@app.command(rich_help_panel="Try it")
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
        demo=demo or exit_after_demo,
        exit_after_demo=exit_after_demo,
        demo_llms=demo_llms,
        verbose=verbose,
    )
    raise typer.Exit(run_stack(options))
