"""Writes docs/reference/cli.md from the command line itself. A test compares the two.

.venv/bin/python -m scripts.cli_page
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from parley.sdk.cli import customers_app

PAGE = Path(__file__).parents[1] / "docs/reference/cli.md"
_HEAD = """\
# The command line

`pip install parley-evals` brings `parley`. Operators' commands (`parley dev`, `api`, `worker`, ...) come with
the extra `server` and explain themselves with `--help`; those for customers are here.

Address and key come from `PARLEY_URL` and `PARLEY_API_KEY`, else from a config file, else from a local stack
in this folder or one above: [the order](sdk.md#address-and-key). `parley whoami` tells what was found.

| exit code | meaning |
|---|---|
| 0 | good |
| 1 | bad: the agent, or the gate, failed |
| 2 | it could not be decided: settings, network, a refusal of the service, too little to say |
| 130 | Ctrl-C or SIGTERM; what was started is cancelled |

With `--json` stdout holds JSON and nothing else. Under GitHub Actions, reports are also written as
annotations and to the job summary.

This page is written from the command line by `python -m scripts.cli_page`.
"""


def page() -> str:
    """The whole page."""
    root = get_command(customers_app())
    sections = [section for name, command in _commands(root, "parley") for section in _section(name, command)]
    return "\n".join([_HEAD, *sections]).rstrip("\n") + "\n"


def _commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def _section(name: str, command: Any) -> Iterator[str]:
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    options = [param for param in command.params if param.param_type_name == "option"]
    words = " ".join(_argument(param) for param in arguments)
    yield f"## {' '.join(filter(None, (name, words)))}\n"
    yield _help(command.help) + "\n"
    rows = [(f"`{_argument(param).strip('[]')}`", param) for param in arguments]
    rows += [(_option(param), param) for param in options if param.name != "help"]
    if rows:
        yield (
            "| | |\n|---|---|\n" + "\n".join(f"| {shown} | {_text(param)} |" for shown, param in rows) + "\n"
        )


def _argument(param: Any) -> str:
    name = (param.metavar or param.name or "").strip("{}[]").upper()
    return name if param.required else f"[{name}]"


def _option(param: Any) -> str:
    names = ", ".join(f"`{name}`" for name in sorted(param.opts, key=len, reverse=True))
    return names if param.is_flag else f"{names} {param.metavar or 'VALUE'}"


def _text(param: Any) -> str:
    return " ".join((getattr(param, "help", None) or "").split()).replace("|", "\\|")


def _help(text: str | None) -> str:
    """The docstring; examples become code."""
    words, _, examples = re.sub(r"\[/?bold\]", "`", text or "").partition("Example")
    told = words.strip()
    code = [line.strip() for line in examples.partition(":")[2].splitlines() if line.strip()]
    return told + ("\n\n```sh\n" + "\n".join(code) + "\n```" if code else "")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
