"""`python -m parley.server.llm.demo`: the scripted llms as a process of their own."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import dataclasses
import os
import signal
import sys
from collections.abc import Mapping

from parley.server.llm.demo.server import DemoServer
from parley.server.llm.demo.space import Settings

PREFIX = "PARLEY_DEMO_"
"""Environment variables that set what `Settings` holds: PARLEY_DEMO_LATENCY_MS, PARLEY_DEMO_CHUNKS, ..."""
_PR_SET_PDEATHSIG = 1


def settings_from(environment: Mapping[str, str]) -> Settings:
    """The settings named in the environment; raises ValueError naming the variable."""
    changes: dict[str, float] = {}
    for one in dataclasses.fields(Settings):
        name = PREFIX + one.name.upper()
        if name in environment:
            try:
                changes[one.name] = (int if one.type == "int" else float)(environment[name])
            except ValueError as error:
                raise ValueError(f"{name} must be a number, not {environment[name]!r}") from error
    return dataclasses.replace(Settings(), **changes)  # type: ignore[arg-type]


def die_with_parent() -> None:
    """Ask Linux to end this process when its parent dies; elsewhere nothing happens."""
    if not sys.platform.startswith("linux"):
        return
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # the parent died before we had asked
        os.kill(os.getpid(), signal.SIGTERM)


async def serve(host: str, port: int, settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT; the address is printed once the server listens."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    async with DemoServer(host, port, settings) as server:
        print(f"demo llms listening at {server.base_url}", flush=True)
        await stopped.wait()


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(prog="parley.server.llm.demo", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    arguments = parser.parse_args()
    try:
        settings = settings_from(os.environ)
    except ValueError as error:
        parser.error(str(error))
    die_with_parent()
    with contextlib.suppress(ImportError):
        import uvloop

        uvloop.install()
    try:
        asyncio.run(serve(arguments.host, arguments.port, settings))
    except OSError as error:
        parser.exit(1, f"cannot listen on {arguments.host}:{arguments.port}: {error.strerror}\n")


if __name__ == "__main__":
    main()
