"""Suites run for somebody at a terminal: shown live, stopped by Ctrl-C with everything cleaned up."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console

from parley.engine.script.record import RunRecord
from parley.engine.script.shapes import Suite
from parley.engine.script.work import Stopping
from parley.sdk.evals.errors import EvalsMisconfigured
from parley.sdk.evals.evals import Evals
from parley.sdk.evals.live import LiveRun
from parley.sdk.evals.telling import summary
from parley.sdk.harmless import one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What to run. None takes everything."""

    suites: list[str] | None
    cases: list[str] | None
    split: str | None
    repetitions: int | None
    concurrency: int
    judge: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What ran. `interrupted` tells of Ctrl-C."""

    records: list[RunRecord]
    interrupted: bool


def run_all(evals: Evals, choice: Choice, *, to_stderr: bool) -> Outcome:
    """Run the chosen suites one after another. Raises `ParleyError` before anything runs."""
    if choice.judge not in (None, "app", "service"):
        raise EvalsMisconfigured(f"--judge is app or service, not {choice.judge}.")
    plan = _chosen(evals, choice)
    console = Console(stderr=to_stderr)
    return asyncio.run(_run_all(evals, plan, choice, console))


async def _run_all(
    evals: Evals, plan: list[tuple[Suite, list[str]]], choice: Choice, console: Console
) -> Outcome:
    stopping, records = Stopping(), []
    with _stopped_by_signals(stopping):
        for suite, case_ids in plan:
            with LiveRun(console) as live:
                record = await evals.run(
                    suite_id=suite.id,
                    case_ids=case_ids,
                    repetitions=choice.repetitions,
                    concurrency=choice.concurrency,
                    judge=choice.judge,
                    on_progress=live.hear,
                    stopping=stopping,
                )
            records.append(record)
            console.print(one_line(summary(record)), highlight=False, markup=False)
    return Outcome(records=records, interrupted=stopping.requested)


@contextmanager
def _stopped_by_signals(stopping: Stopping) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM stops with a cleanup; the next one does what it always does."""
    loop = asyncio.get_running_loop()
    kinds = (signal.SIGINT, signal.SIGTERM)

    def stop() -> None:
        stopping.request()
        give_back()

    def give_back() -> None:
        for kind in kinds:
            loop.remove_signal_handler(kind)

    for kind in kinds:
        loop.add_signal_handler(kind, stop)
    try:
        yield
    finally:
        give_back()


def _chosen(evals: Evals, choice: Choice) -> list[tuple[Suite, list[str]]]:
    known = evals.list_suites()
    _refuse_unknown("suite", choice.suites, [suite.id for suite in known])
    suites = [suite for suite in known if choice.suites is None or suite.id in choice.suites]
    _refuse_unknown("case", choice.cases, [case.id for suite in suites for case in suite.cases])
    plan = [
        (
            suite,
            [
                case.id
                for case in suite.cases
                if (choice.cases is None or case.id in choice.cases)
                and (choice.split is None or choice.split in case.splits)
            ],
        )
        for suite in suites
    ]
    plan = [(suite, case_ids) for suite, case_ids in plan if case_ids]
    if not plan:
        raise EvalsMisconfigured("No case is chosen.")
    return plan


def _refuse_unknown(what: str, asked: list[str] | None, known: list[str]) -> None:
    for name in asked or ():
        if name not in known:
            raise EvalsMisconfigured(f"There is no {what} {name!r}; there are {', '.join(known)}.")
