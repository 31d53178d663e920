"""`evaluate`: the agent answers every case of a dataset, the service judges the answers."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ParamSpec

from parley.sdk.async_client import AsyncClient
from parley.sdk.ci import origin
from parley.sdk.datasets import ShellRun
from parley.sdk.evaluating.asking import result_of
from parley.sdk.evaluating.case import Agent, Case
from parley.sdk.evaluating.owed import cases_owed, dataset_id_of
from parley.sdk.evaluating.posting import Postbox
from parley.sdk.evaluating.progress import Progress, showing
from parley.sdk.evaluating.report import EvaluationUnfinished, Report, read_report

P = ParamSpec("P")
_LONGEST_WAIT_S = 60
"""The service lets a call wait for scores no longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pace:
    """How the cases of a run are worked through."""

    concurrency: int
    case_timeout_s: float | None
    scoring_timeout_s: float
    progress: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What a new run is to be, and where the agent comes from as far as the caller says."""

    settings: str | None
    split: str | None
    repetitions: int
    run_source: str | None
    commit: str | None
    branch: str | None
    pull_request: str | None


async def evaluate_async(
    dataset: str,
    fn: Agent,
    *,
    settings: str | None = None,
    split: str | None = None,
    repetitions: int = 1,
    concurrency: int = 8,
    resume: str | None = None,
    case_timeout_s: float | None = None,
    scoring_timeout_s: float = 900.0,
    run_source: str | None = None,
    commit: str | None = None,
    branch: str | None = None,
    pull_request: str | None = None,
    progress: bool | None = None,
    table: bool = True,
    client: AsyncClient | None = None,
) -> Report:
    """Evaluate `fn` on a dataset, which is named by id or name.

    `fn` takes a `Case` and returns text or an `Output`; it may be async. What it raises fails its case.

    `settings`: id of a grader. `split`: only the cases of one. `repetitions`: 1..20 answers a case.
    `concurrency`: cases in work at once. `resume`: id of a run to go on with; then dataset, split and
    repetitions are that run's. `case_timeout_s`: for one answer; a plain function is not stopped by it,
    only no longer waited for. `scoring_timeout_s`: how long to wait for the judge when all is in.
    `commit`, `branch`, `pull_request`: where the agent comes from; by default what the pipeline tells.
    `progress`: a bar, by default where stderr is a terminal. `table`: the results on stderr at the end.

    Interrupted, it hands in what was answered and tells how to go on. Raises `ParleyError`.
    """
    pace = _Pace(
        concurrency=concurrency,
        case_timeout_s=case_timeout_s,
        scoring_timeout_s=scoring_timeout_s,
        progress=progress,
    )
    wanted = _Wanted(
        settings=settings,
        split=split,
        repetitions=repetitions,
        run_source=run_source,
        commit=commit,
        branch=branch,
        pull_request=pull_request,
    )
    async with _opened(client) as service:
        run = await (_begun(service, dataset, wanted) if resume is None else service.dataset_runs.get(resume))
        report = await _carried_out(service, run, fn, pace)
    if table:
        sys.stderr.write(f"{report}\n")
    return report


def _blocking(awaited: Callable[P, Coroutine[Any, Any, Report]]) -> Callable[P, Report]:
    """The same for those without a loop; where one is running already, as in a notebook, in a thread."""

    @functools.wraps(awaited)
    def evaluate(*args: P.args, **kwargs: P.kwargs) -> Report:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(awaited(*args, **kwargs))
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(lambda: asyncio.run(awaited(*args, **kwargs))).result()

    return evaluate


evaluate = _blocking(evaluate_async)


@contextlib.asynccontextmanager
async def _opened(client: AsyncClient | None) -> AsyncIterator[AsyncClient]:
    """The client that was given, which stays open; or one of our own."""
    if client is not None:
        yield client
        return
    async with AsyncClient() as own:
        yield own


async def _begun(client: AsyncClient, dataset: str, wanted: _Wanted) -> ShellRun:
    """A new run. What the caller does not say of the agent's origin is what the pipeline tells."""
    told = origin(os.environ)
    return await client.dataset_runs.start(
        await dataset_id_of(client, dataset),
        settings_id=wanted.settings,
        split=wanted.split,
        repetitions=wanted.repetitions,
        run_source=wanted.run_source,
        commit=wanted.commit or told.commit,
        branch=wanted.branch or told.branch,
        pull_request=wanted.pull_request or told.pull_request,
    )


async def _carried_out(client: AsyncClient, run: ShellRun, agent: Agent, pace: _Pace) -> Report:
    refused: list[dict[str, Any]] = []
    cases = await cases_owed(client, run)
    postbox = Postbox(client, run.run_id, refused)
    with showing(len(cases), "answering", pace.progress) as progress:
        try:
            await _filled(postbox, _answering(agent, cases, postbox, progress, pace))
        except BaseException:
            # What was answered is worth handing in, whatever stopped us.
            with contextlib.suppress(Exception):
                await postbox.flush()
            sys.stderr.write(f"Stopped. Go on where it was with evaluate(..., resume={run.run_id!r}).\n")
            raise
        progress.scoring()
        await _scored(client, run, pace.scoring_timeout_s)
    return await read_report(client, run.run_id, refused)


async def _filled(postbox: Postbox, answering: Coroutine[Any, Any, None]) -> None:
    """Post while the cases are answered. Raises what went wrong first."""
    try:
        async with asyncio.TaskGroup() as group:
            posting = group.create_task(postbox.post_for_ever(), name="parley-post")
            await group.create_task(answering, name="parley-answer")
            posting.cancel()
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None
    await postbox.flush()


async def _answering(
    agent: Agent, cases: Sequence[Case], postbox: Postbox, progress: Progress, pace: _Pace
) -> None:
    """Answer all cases, as many at once as the pace says."""
    left = iter(cases)

    async def work() -> None:
        for case in left:
            postbox.put(await result_of(agent, case, pace.case_timeout_s))
            progress.answered()

    async with asyncio.TaskGroup() as group:
        for _ in range(min(max(pace.concurrency, 1), len(cases))):
            group.create_task(work())


async def _scored(client: AsyncClient, run: ShellRun, timeout_s: float) -> None:
    """Wait for the scores of all results. Raises `EvaluationUnfinished`."""
    deadline_s = time.monotonic() + timeout_s
    while (left_s := deadline_s - time.monotonic()) > 0:
        asked_s = max(1, min(_LONGEST_WAIT_S, int(left_s)))
        if (await client.dataset_runs.finalize(run.run_id, wait_s=asked_s)).status == "completed":
            return
    raise EvaluationUnfinished(
        f"Run {run.run_id} is still being scored after {timeout_s:g} s; "
        f"look at it later, or go on with evaluate(..., resume={run.run_id!r})."
    )
