"""The phases of an attempt: each bounded in time, stopped on a wish, its failure kept as an error."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn, TypeVar

from parley.engine.ports import Clock
from parley.engine.script.draft import AttemptDraft
from parley.engine.script.faults import Phase, PhaseFailed
from parley.engine.script.ports import App, Context, Limits
from parley.engine.script.told_errors import error_record
from parley.engine.script.work import CancelledItself, Overdue, Stopped, Stopping, WorkEnded, bounded

T = TypeVar("T")

REPORT_S: Final = 5.0
"""For `report_error`: an answer that takes longer is gone without."""


class Over(Exception):
    """The attempt goes no further; why stands in its draft."""


class Phases:
    """Runs the phases of one attempt. `began` is told of each as it begins."""

    def __init__(
        self,
        draft: AttemptDraft,
        context: Context,
        app: App,
        clock: Clock,
        limits: Limits,
        stopping: Stopping,
        began: Callable[[Phase], None],
    ) -> None:
        self.step_index: int | None = None
        """The step under way, which errors are kept with."""
        self.returned_late = False
        """Whether the last work that was cancelled gave its result all the same."""
        self._draft = draft
        self._context = context
        self._app = app
        self._clock = clock
        self._limits = limits
        self._stopping = stopping
        self._began = began
        self._case_left_s = limits.case_s

    async def within_case(self, phase: Phase, start: Callable[[], Awaitable[T]]) -> T:
        """A phase on the clock of the case. Raises `Over`."""
        began_s = self._clock.monotonic_s()
        try:
            return await self._run(phase, start, self._case_left_s, told_s=self._limits.case_s)
        finally:
            self._case_left_s -= self._clock.monotonic_s() - began_s

    async def within(self, phase: Phase, start: Callable[[], Awaitable[T]], limit_s: float | None) -> T:
        """A phase with a limit of its own, None for that of a whole case. Raises `Over`."""
        allowed_s = self._limits.case_s if limit_s is None else limit_s
        return await self._run(phase, start, allowed_s, told_s=allowed_s)

    async def clean_up(self, start: Callable[[], Awaitable[Any]]) -> None:
        """Clean something up, whatever else is wished for. What goes wrong is kept and ends nothing."""
        limit_s = self._limits.cleanup_s
        try:
            await self._run("cleanup", start, limit_s, told_s=limit_s, heeds_stop=False)
        except Over:
            return

    @contextmanager
    def timed(self, phase: Phase) -> Iterator[None]:
        """Count the time of a block to a phase."""
        self._began(phase)
        began_s = self._clock.monotonic_s()
        try:
            yield
        finally:
            spent = self._draft.durations_s
            spent[phase] = spent.get(phase, 0.0) + self._clock.monotonic_s() - began_s

    def fail(self, error: PhaseFailed) -> NoReturn:
        """Keep the error and go no further."""
        self._keep(error)
        raise Over

    def cancel(self) -> NoReturn:
        """Go no further, without any error."""
        self._draft.is_cancelled = True
        raise Over

    async def _run(
        self,
        phase: Phase,
        start: Callable[[], Awaitable[T]],
        limit_s: float,
        *,
        told_s: float,
        heeds_stop: bool = True,
    ) -> T:
        with self.timed(phase):
            self._context.deadline_s = self._clock.monotonic_s() + limit_s
            try:
                stopping = self._stopping if heeds_stop else None
                return await bounded(start, limit_s, grace_s=self._limits.cleanup_s, stopping=stopping)
            except WorkEnded as ended:
                self._note(phase, ended, told_s)
            except CancelledItself:
                self._keep(PhaseFailed(phase, "cancelled_itself", "It was cancelled from within."))
            except Exception as error:
                await self._report(error, phase)
        raise Over

    def _note(self, phase: Phase, ended: WorkEnded, told_s: float) -> None:
        self.returned_late = ended.returned
        if isinstance(ended, Stopped):
            self._draft.is_cancelled = True
        if isinstance(ended, Overdue):
            self._keep(PhaseFailed(phase, "overdue", f"It took longer than {told_s:g} seconds."))
        if ended.hangs:
            grace_s = self._limits.cleanup_s
            told = f"Work of {phase} was cancelled and did not end within {grace_s:g} seconds."
            self._keep(PhaseFailed("cleanup", "work_not_ended", told))

    async def _report(self, error: Exception, phase: Phase) -> None:
        record = error_record(phase, error, step_index=self.step_index)
        diagnostic: str | None = None
        try:
            diagnostic = await bounded(
                lambda: self._app.report_error(self._context, error), REPORT_S, grace_s=REPORT_S
            )
        except (Exception, asyncio.CancelledError) as fault:
            self._draft.errors.append(error_record("reporting", fault))
        self._draft.errors.append(record.model_copy(update={"diagnostic_id": diagnostic}))

    def _keep(self, error: PhaseFailed) -> None:
        self._draft.errors.append(error_record(error.phase, error, step_index=self.step_index))
