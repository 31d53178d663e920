"""One agentic test run several times: what an agent does once, it may not do the next time."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from parley.sdk.answers import AgenticTestLine, Run, RunDetail
from parley.sdk.client import Client
from parley.sdk.errors import ParleyError
from parley.sdk.naming import is_id, the_one

_THE_AGENTS_FAULT = frozenset({"gateway_inference", "validation_hook_interrupted"})
"""Failed runs that say something about the agent; all others failed on our side and say nothing."""


class Undecided(ParleyError):
    """Too few runs could be carried out to say anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """Runs of one test that have ended."""

    test_name: str
    runs: Sequence[RunDetail] = field(repr=False)

    @property
    def decided(self) -> list[RunDetail]:
        """Those that say something about the agent."""
        return [run for run in self.runs if _says_something(run)]

    @property
    def coverage(self) -> float:
        """The share that says something."""
        return len(self.decided) / len(self.runs)

    @property
    def pass_rate(self) -> float:
        """The share of successes among those. Raises `Undecided` if there are none."""
        if not self.decided:
            raise Undecided(str(self))
        return sum(run.outcome == "success" for run in self.decided) / len(self.decided)

    def require_coverage(self, min_coverage: float) -> None:
        """Raises `Undecided` if too little can be said."""
        if self.coverage < min_coverage:
            raise Undecided(f"only {len(self.decided)} of {len(self.runs)} runs can be judged\n{self}")

    def require_pass_rate(self, min_pass_rate: float) -> None:
        """Raises `AssertionError` if too few passed."""
        if self.pass_rate < min_pass_rate:
            passed = round(self.pass_rate * len(self.decided))
            wanted = f"wanted {min_pass_rate:.0%}"
            raise AssertionError(f"{passed} of {len(self.decided)} runs passed, {wanted}\n{self}")

    def __str__(self) -> str:
        return "\n".join([self.test_name, *(f"  {_line(run)}" for run in self.runs)])


def find_test(client: Client, reference: str) -> AgenticTestLine:
    """A test by its id or name. Raises `NotFoundByName` or `NotFound`."""
    if is_id(reference):
        return client.tests.get(reference)
    return the_one("test", reference, client.tests.list(search=reference))


def run_repeatedly(client: Client, reference: str, repetitions: int) -> Trials:
    """Run a test so many times, as many at once as the plan allows. Whatever stops this cancels the runs."""
    test = find_test(client, reference)
    started: list[Run] = []
    try:
        for _ in range(repetitions):
            started.append(client.runs.start(test.id))  # noqa: PERF401 - what was started has to be known
        ended = [_ended(client, run) for run in started]
    except BaseException:
        _cancel(client, started)
        raise
    return Trials(test_name=test.name, runs=ended)


def _ended(client: Client, run: Run) -> RunDetail:
    """A run, when it is over."""
    for _ in client.runs.events(run.test_id, run.id):
        pass
    return client.runs.get(run.test_id, run.id)


def _cancel(client: Client, runs: Sequence[Run]) -> None:
    for run in runs:
        with contextlib.suppress(ParleyError):
            client.runs.cancel(run.test_id, run.id)


def _says_something(run: Run) -> bool:
    is_the_agents = run.error is not None and run.error.code in _THE_AGENTS_FAULT
    return run.state == "succeeded" or (run.state == "failed" and is_the_agents)


def _line(run: RunDetail) -> str:
    score = "-" if run.score is None else f"{run.score:.3f}"
    fault = f" {run.error.message}" if run.error else ""
    return f"{run.outcome or run.state} {score} {run.id}{fault}"
