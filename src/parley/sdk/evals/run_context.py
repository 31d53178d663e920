"""An attempt as the app's handlers see it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from parley.engine.script.ports import Command, Context
from parley.engine.script.record import StepRecord
from parley.engine.script.shapes import Case, Suite
from parley.sdk.evals.agents import Turn, turn_of


class RunContext:
    """An attempt as handlers see it."""

    def __init__(self, inner: Context, run: Callable[[Command], Any], command: Command | None) -> None:
        self._inner = inner
        self._run = run
        self._loop = asyncio.get_running_loop()
        self.command = command
        """What `execute` is to carry out; None in other handlers."""

    @property
    def suite(self) -> Suite:
        """The suite."""
        return self._inner.suite

    @property
    def case(self) -> Case:
        """The case."""
        return self._inner.case

    @property
    def session_id(self) -> str:
        """Unique to the attempt."""
        return self._inner.session_id

    @property
    def attempt_id(self) -> str:
        """The attempt's id."""
        return self._inner.attempt_id

    @property
    def repetition(self) -> int:
        """Which repetition of the case it is, from 1."""
        return self._inner.repetition

    @property
    def params(self) -> Any:
        """The case's params: an instance of `params_model` where there is one."""
        return self._inner.params

    @property
    def prepared(self) -> Any:
        """What `setup` gave."""
        return self._inner.prepared

    @property
    def history(self) -> tuple[StepRecord, ...]:
        """The completed steps."""
        return tuple(self._inner.history)

    @property
    def continuation(self) -> Any:
        """The handle on the waiting pause."""
        return self._inner.continuation

    @property
    def memory(self) -> dict[str, Any]:
        """Yours, for as long as the attempt lives."""
        return self._inner.memory

    @property
    def turn(self) -> Turn:
        """The command as an agent is given it."""
        if self.command is None:
            raise RuntimeError("there is a turn in execute alone")
        return turn_of(self._inner, self.command)

    @property
    def remaining_s(self) -> float | None:
        """Seconds until the deadline of this phase; None where nothing limits."""
        deadline_s = self._inner.deadline_s
        return None if deadline_s is None else max(0.0, deadline_s - time.monotonic())

    async def run(self) -> Any:
        """Let the agent carry out the command; for `execute` that wants to do something around it."""
        if self.command is None:
            raise RuntimeError("run() belongs into execute")
        return await self._run(self.command)

    def run_sync(self) -> Any:
        """`run` for an `execute` that is a plain function."""
        return asyncio.run_coroutine_threadsafe(self.run(), self._loop).result()
