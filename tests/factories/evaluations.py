"""Stored evaluations of a dataset, written as the ratings of their cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias
from uuid import UUID

from parley.server.db.database import Database
from parley.server.db.repository import AccountScope
from parley.server.db.tables import Dataset, Evaluation
from parley.server.evaluations import results
from parley.server.evaluations.begin import begin
from parley.server.evaluations.finish import finalize
from parley.server.evaluations.new import NewCase, NewEvaluation, NewResult, Score, failed, skipped
from parley.server.kit.ids import new_id

Rating: TypeAlias = str | int | float | None
"""A rating; None for a skipped result, "failed" for a failed one, "open" for one still to be scored."""

GRADING: Mapping[str, Any] = {"criteria": "Be right.", "judge": {"profile": "low"}, "pass_rating": 7}


async def make_dataset(database: Database, scope: AccountScope, name: str = "Questions") -> UUID:
    """A dataset's row, without content."""
    async with database.session() as session:
        row = Dataset(account_id=scope.account_id, id=new_id(), name=name)
        session.add(row)
        await session.flush()
        return row.id


def cases(count: int) -> list[NewCase]:
    """Cases c0, c1, ..."""
    return [
        NewCase(
            case_id=f"c{at}",
            index=at,
            kind="custom",
            name=f"Question {at}",
            content={"query": f"Question {at}?"},
            content_hash=f"hash {at}",
        )
        for at in range(count)
    ]


def score_of(rating: Rating) -> Score | None:
    """The score that a rating stands for; None for a result that waits."""
    if rating == "open":
        return None
    if rating is None:
        return skipped("judge_unreadable", "The judge could not be read.")
    if rating == "failed":
        return failed("timeout", "The agent took too long.")
    value = Decimal(str(rating))
    return Score(status="rated", rating=value, passed=value >= 7, justification="Because.")


async def open_evaluation(
    database: Database, scope: AccountScope, dataset_id: UUID, count: int = 2, **fields: Any
) -> UUID:
    """An evaluation in progress; gives its id."""
    given: dict[str, Any] = {
        "id": new_id(),
        "dataset_id": dataset_id,
        "name": "Questions",
        "version": 1,
        "cases": cases(count),
        "grading": GRADING,
        "pass_rating": Decimal(7),
    }
    async with database.session() as session:
        return (await begin(session, scope, NewEvaluation(**{**given, **fields}))).id


async def keep(
    database: Database, scope: AccountScope, evaluation_id: UUID, ratings: Sequence[Rating | Sequence[Rating]]
) -> results.Kept:
    """One result per rating; an item that is a list holds the repetitions of its case."""
    new = [
        NewResult(
            id=new_id(),
            case_id=f"c{at}",
            repetition=repetition,
            key=f"c{at}/{repetition}",
            transcript={"output": {"text": "An answer."}},
            duration_ms=100 * (at + 1),
            ended=score_of(rating),
        )
        for at, each in enumerate(ratings)
        for repetition, rating in enumerate(each if isinstance(each, list | tuple) else [each], 1)
    ]
    async with database.session() as session:
        return await results.keep(session, scope, evaluation_id, new)


async def evaluated(
    database: Database,
    scope: AccountScope,
    dataset_id: UUID,
    ratings: Sequence[Rating | Sequence[Rating]],
    **fields: Any,
) -> UUID:
    """A finalized evaluation with these ratings; completed unless one of them is open."""
    repetitions = max((len(each) for each in ratings if isinstance(each, list | tuple)), default=1)
    evaluation_id = await open_evaluation(
        database, scope, dataset_id, len(ratings), **{"repetitions": repetitions, **fields}
    )
    await keep(database, scope, evaluation_id, ratings)
    async with database.session() as session:
        await finalize(session, scope, evaluation_id)
    return evaluation_id


async def stored(database: Database, scope: AccountScope, evaluation_id: UUID) -> Evaluation:
    """The row as it is."""
    async with database.session() as session:
        row = await session.get(Evaluation, (scope.account_id, evaluation_id))
        assert row is not None
        return row
