"""How a command ends: exit codes, and expected faults as one sentence."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import typer

from parley.sdk.harmless import harmless, json_text

PASSED, FAILED, CANNOT, INTERRUPTED = 0, 1, 2, 130
"""Good; bad; could not be decided (settings, network, too little to say); Ctrl-C."""
PANEL = "Test your agent"
"""Where the customers' commands stand in the help."""


@contextmanager
def plainly() -> Iterator[None]:
    """End with a sentence for every expected fault, and with `INTERRUPTED` after Ctrl-C or SIGTERM."""
    from parley.sdk.errors import ParleyError

    try:
        with _terminated_like_ctrl_c():
            yield
    except ParleyError as error:
        say(str(error))
        raise typer.Exit(CANNOT) from None
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        raise typer.Exit(CANNOT) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def say(text: str) -> None:
    """A line for people, out of the way of what a program reads."""
    typer.echo(harmless(text), err=True)


def tell(text: str) -> None:
    """A line that was asked for."""
    typer.echo(harmless(text))


def tell_json(content: Any) -> None:
    """The same for programs."""
    typer.echo(json_text(content))


@contextmanager
def _terminated_like_ctrl_c() -> Iterator[None]:
    """A pipeline that is cancelled sends SIGTERM; what was started is to be cancelled then as well."""

    def interrupt(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        # Only the main thread hears signals.
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
