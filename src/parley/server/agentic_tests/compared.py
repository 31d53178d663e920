"""Two sets of runs of one test, found and set side by side.

Looked at are the newest runs of a test that ended, and of each side the ones nearest to the other, so that
the cost does not grow with the test's history.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text

from parley.server.agentic_tests.like_with_like import Difference, differences
from parley.server.agentic_tests.run_sets import ComparedRun, Gap, RunSet, gap, run_set
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.errors import NotFound

LOOKED_AT: Final = 5_000
"""The newest ends of a test among which sets are found."""
MOST_A_SIDE: Final = 300
"""Runs of a side, the newest; their means have intervals narrow enough to tell."""
MOST_REVISIONS: Final = 20
"""Revisions whose definitions are compared; sets with more are not comparable."""

_COLUMNS = """
       id, revision, created_at, state, outcome, score, cost, turn AS turns,
       (extract(epoch FROM finished_at - started_at) * 1000)::bigint AS took_ms
"""

_ENDS = text(f"""
SELECT {_COLUMNS} FROM runs
 WHERE account_id = :account_id AND test_id = :test_id AND state IN ('succeeded', 'failed')
 ORDER BY id DESC LIMIT :most
""")

_SOME = text(f"""
SELECT {_COLUMNS} FROM runs
 WHERE account_id = :account_id AND test_id = :test_id AND id = ANY(:run_ids)
""")

_BEFORE = text("""
SELECT id FROM runs
 WHERE account_id = :account_id AND test_id = :test_id AND state IN ('succeeded', 'failed') AND id < :run_id
 ORDER BY id DESC LIMIT 1
""")

_DEFINITIONS = text("""
SELECT definition FROM runs WHERE account_id = :account_id AND id = ANY(:run_ids) ORDER BY id DESC
""")

_ANSWERS = text("""
SELECT run_id, array_agg((body -> 'timing' ->> 'took_ms')::bigint ORDER BY seq) AS answer_ms
  FROM entries
 WHERE account_id = :account_id AND run_id = ANY(:run_ids) AND kind = 'assistant'
 GROUP BY run_id
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A revision of a test with its runs among those looked at."""

    revision: str
    runs: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two sets side by side. `gap` is None if they are not comparable; `differences` tell why."""

    left: RunSet
    right: RunSet
    gap: Gap | None
    differences: tuple[Difference, ...]
    revisions: tuple[Revision, ...]


class RunSets:
    """The runs of one test, as sets."""

    def __init__(self, session: Session, scope: AccountScope, test_id: UUID) -> None:
        self._session = session
        self._about = {"account_id": scope.account_id, "test_id": test_id}

    async def by_run(self, left: UUID | None, right: UUID) -> Comparison:
        """Two runs; the left one is the end before the right one if none is named. Raises `NotFound`."""
        left = left or await self._session.scalar(_BEFORE, self._about | {"run_id": right})
        wanted = [right] if left is None else [left, right]
        found = {run.id: run for run in await self._read(_SOME, run_ids=wanted)}
        if any(run_id not in found for run_id in wanted):
            raise NotFound
        return await self._compared([found[left]] if left else [], [found[right]], ())

    async def by_revision(self, left: str | None, right: str | None) -> Comparison:
        """The runs of two revisions: by default of the newest, and of the one that ran before it."""
        ends = await self._read(_ENDS, most=LOOKED_AT)
        found = revisions(ends)
        now = right or next((one.revision for one in found), None)
        before = left or next((one.revision for one in found if one.revision != now), None)
        return await self._compared(
            _newest(ends, lambda run: run.revision == before),
            _newest(ends, lambda run: run.revision == now),
            found,
        )

    async def by_time(self, split_at: datetime) -> Comparison:
        """The runs that began before a moment, and those that began from it on."""
        ends = await self._read(_ENDS, most=LOOKED_AT)
        return await self._compared(
            _newest(ends, lambda run: run.created_at < split_at),
            _newest(ends, lambda run: run.created_at >= split_at),
            revisions(ends),
        )

    async def _read(self, statement: Any, **values: Any) -> list[ComparedRun]:
        rows = await self._session.execute(statement, self._about | values)
        return [ComparedRun(**row._mapping) for row in rows]

    async def _compared(
        self, left: Sequence[ComparedRun], right: Sequence[ComparedRun], found: Sequence[Revision]
    ) -> Comparison:
        executed = [run for run in (*left, *right) if run.is_executed]
        apart = (*_too_few(left, right), *await self._differences(executed))
        timed = await self._timed([*left, *right])
        sides = [[timed[run.id] for run in side] for side in (left, right)]
        seed = str(self._about["test_id"])
        sets = [await asyncio.to_thread(run_set, side, seed) for side in sides]
        is_refused = any(one.forbids for one in apart)
        return Comparison(
            left=sets[0],
            right=sets[1],
            gap=None if is_refused else gap(sets[0], sets[1]),
            differences=apart,
            revisions=tuple(found[:MOST_REVISIONS]),
        )

    async def _differences(self, runs: Sequence[ComparedRun]) -> list[Difference]:
        """What the definitions of all revisions differ in; each revision is read once."""
        newest = {run.revision: run.id for run in sorted(runs, key=lambda run: run.id)}
        if len(newest) > MOST_REVISIONS:
            detail = f"The runs are of {len(newest)} revisions; at most {MOST_REVISIONS} are compared."
            return [Difference("runs", None, detail)]
        # Two runs of one revision may still have read different texts from their remote resources.
        ids = [run.id for run in runs] if len(runs) == 2 else list(newest.values())
        rows = await self._session.scalars(_DEFINITIONS, self._about | {"run_ids": ids})
        return differences(list(rows))

    async def _timed(self, runs: Sequence[ComparedRun]) -> dict[UUID, ComparedRun]:
        rows = await self._session.execute(_ANSWERS, self._about | {"run_ids": [run.id for run in runs]})
        answers = {row.run_id: tuple(row.answer_ms) for row in rows}
        return {run.id: dataclasses.replace(run, answer_ms=answers.get(run.id, ())) for run in runs}


def revisions(ends: Sequence[ComparedRun]) -> list[Revision]:
    """The revisions of `ends` (newest first), the one that ran last first."""
    groups: dict[str, list[ComparedRun]] = {}
    for run in ends:
        groups.setdefault(run.revision, []).append(run)
    return [
        Revision(revision=name, runs=len(runs), first_at=runs[-1].created_at, last_at=runs[0].created_at)
        for name, runs in groups.items()
    ]


def _newest(ends: Sequence[ComparedRun], belongs: Callable[[ComparedRun], bool]) -> list[ComparedRun]:
    return [run for run in ends if belongs(run)][:MOST_A_SIDE]


def _too_few(left: Sequence[ComparedRun], right: Sequence[ComparedRun]) -> list[Difference]:
    """Sides on which nothing came to an outcome."""
    return [
        Difference("runs", None, f"No run on the {name} was carried out to an outcome.")
        for name, side in (("left", left), ("right", right))
        if not any(run.is_executed for run in side)
    ]
