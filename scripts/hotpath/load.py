"""How much is measured at once, as a process that measures itself is told it."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from parley.server.kit.heap import settle_heap
from scripts.hotpath.meter import OwnMeter, tell


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """`conversations` in all, `at_once` of them open, each of `turns` turns."""

    conversations: int
    at_once: int
    turns: int

    @property
    def all_turns(self) -> int:
        """The turns of all conversations."""
        return self.conversations * self.turns

    def arguments(self) -> list[str]:
        """This load on a command line."""
        return [str(self.conversations), str(self.at_once), str(self.turns)]


def read_arguments() -> tuple[str, Load]:
    """The base URL of the scripted llms, and the load."""
    parser = argparse.ArgumentParser()
    parser.add_argument("base_url")
    for name in ("conversations", "at_once", "turns"):
        parser.add_argument(name, type=int)
    given = parser.parse_args()
    load = Load(conversations=given.conversations, at_once=given.at_once, turns=given.turns)
    return given.base_url, load


async def measure(load: Load, hold_one: Callable[[], Awaitable[None]]) -> None:
    """Hold one conversation to warm up, then the load, measured and told.

    The collector is set as in our processes, for the floor too.
    """
    await hold_one()
    settle_heap()
    left = load.conversations

    async def slot() -> None:
        nonlocal left
        while left:
            left -= 1
            await hold_one()

    with OwnMeter() as meter:
        await asyncio.gather(*(slot() for _ in range(load.at_once)))
    tell(meter.spending)
