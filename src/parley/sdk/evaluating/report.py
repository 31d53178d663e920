"""What an evaluation came to, and the questions one asks it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

from parley.sdk.async_client import AsyncClient
from parley.sdk.calls.evaluations import GateChecks
from parley.sdk.client import Client
from parley.sdk.connection import Connection
from parley.sdk.errors import ParleyError
from parley.sdk.verdicts import CaseResult, Evaluation, GateAnswer, Statistics


class EvaluationUnfinished(ParleyError):
    """The evaluation was not completed in time; it can be asked for again by its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A completed evaluation with its case results. `refused` lists results the service would not take."""

    evaluation: Evaluation
    results: Sequence[CaseResult]
    connection: Connection = field(repr=False)
    refused: Sequence[dict[str, Any]] = ()

    @property
    def id(self) -> str:
        """Of the evaluation; on the shell plane the id of the run."""
        return self.evaluation.id

    @property
    def statistics(self) -> Statistics:
        """What the results add up to."""
        if self.evaluation.statistics is None:
            raise EvaluationUnfinished(f"Evaluation {self.id} has no statistics yet.")
        return self.evaluation.statistics

    @property
    def average_rating(self) -> float | None:
        """The mean rating, 0..10; None without any."""
        return self.statistics.average_rating

    @property
    def pass_rate(self) -> float | None:
        """The share that passed; None without any rated result."""
        rate = self.statistics.pass_rate
        return None if rate is None else rate.value

    def failing(self) -> Iterator[CaseResult]:
        """The results that did not pass, the worst first; those without a rating at the end."""
        unhappy = [result for result in self.results if result.passed is not True]
        yield from sorted(unhappy, key=lambda one: (one.rating is None, one.rating or 0.0, one.index))

    def gate(self, **checks: Unpack[GateChecks]) -> GateAnswer:
        """Ask the gate; at least one check. Coverage is checked at 1 unless `min_coverage` says otherwise.

        Within an event loop ask `await client.evaluations.gate(report.id, ...)` instead: this one blocks.
        """
        with Client(self.connection.url, self.connection.api_key) as client:
            return client.evaluations.gate(self.id, **checks)

    def __str__(self) -> str:
        from parley.sdk.reporting.table import plain

        return plain(self)


async def read_report(
    client: AsyncClient, evaluation_id: str, refused: Sequence[dict[str, Any]] = ()
) -> Report:
    """The report of an evaluation as it stands."""
    evaluation = await client.evaluations.get(evaluation_id)
    results = [result async for result in client.evaluations.results(evaluation_id)]
    return Report(evaluation=evaluation, results=results, connection=client.connection, refused=list(refused))
