"""Turns what can go wrong for an operator into one sentence and exit code 2."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

CANNOT = 2
"""Exit code of a command that could not do what it was asked."""
_NO_SUCH_DATABASE = "3D000"
"""PostgreSQL's state for it (appendix A)."""


@contextmanager
def plainly() -> Iterator[None]:
    """End the command with a sentence for every expected fault; others keep their traceback."""
    try:
        yield
    except Exception as error:
        sentence = sentence_of(error)
        if sentence is None:
            raise
        typer.echo(sentence, err=True)
        raise typer.Exit(CANNOT) from None


def sentence_of(error: Exception) -> str | None:
    """What to tell a person; None for a fault of ours."""
    from pydantic import ValidationError

    from parley.server.errors import DatabaseAway, ServerError
    from parley.server.ops.local.errors import LocalStackError

    if missing := _missing_database(error):
        return (
            f"There is no such database ({missing}); create it with `createdb`, or check PARLEY_DATABASE_URL."
        )
    match error:
        case ValidationError():
            return _settings_sentence(error)
        case DatabaseAway():
            return "The database does not answer; check PARLEY_DATABASE_URL, and ask `parley doctor`."
        case ServerError() | LocalStackError() | ValueError():
            return str(error)
    return None


def _missing_database(error: BaseException | None) -> str:
    """PostgreSQL's own words, if it refused because the database does not exist; whoever wrapped them."""
    while error is not None:
        if getattr(error, "sqlstate", None) == _NO_SUCH_DATABASE and error.__cause__ is None:
            return str(error)
        error = error.__cause__
    return ""


def _settings_sentence(error: object) -> str:
    from pydantic import ValidationError

    from parley.server.config import GROUPS, variable
    from parley.server.kit.wording import problem_of

    assert isinstance(error, ValidationError)
    groups = {group.__name__: group for group in GROUPS}
    problems = []
    for fault in error.errors(include_input=False, include_url=False):
        field = str(fault["loc"][0]) if fault["loc"] else ""
        group = groups.get(error.title)
        name = variable(group, field) if group else field
        problems.append(f"{name}: {problem_of(fault).rstrip('.')}")
    return f"A setting is wrong. {'; '.join(problems)}."
