"""Rows of runs and their entries, within one account."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from uuid import UUID

from sqlalchemy import Select, Uuid, column, exists, func, literal, select, true, update, values
from sqlalchemy.orm import defer

from parley.engine.events import ENTRY, Ended
from parley.engine.state import State
from parley.server.db.repository import Repository
from parley.server.db.tables.agentic_tests import AgenticTest
from parley.server.db.tables.entries import RunEntry
from parley.server.db.tables.runs import OPEN_STATES, Run
from parley.server.kit.paging import Paging
from parley.server.kit.schemas import PageInfo
from parley.server.queue import outbox
from parley.server.runs.finish import result_of
from parley.server.runs.record import Kept


class RunRepository(Repository[Run]):
    """The runs in scope."""

    table = Run

    async def of_test(self, test_id: UUID, run_id: UUID) -> Run | None:
        """A run of this test, or None; the runs of a deleted test are hidden with it."""
        is_live = exists().where(
            AgenticTest.account_id == Run.account_id,
            AgenticTest.id == Run.test_id,
            AgenticTest.deleted_at.is_(None),
        )
        statement = self.rows().where(Run.id == run_id, Run.test_id == test_id, is_live)
        found: Run | None = await self.session.scalar(statement)
        return found

    async def list_of_test(
        self, test_id: UUID, state: str | None, paging: Paging
    ) -> tuple[Sequence[Run], PageInfo]:
        """One page of a test's runs, newest first."""
        statement = self._listed().where(Run.test_id == test_id)
        if state is not None:
            # Written into the statement, not bound: a plan for any state could not use a state's index.
            statement = statement.where(Run.state == literal(state, literal_execute=True))
        return await self.page(statement, paging)

    async def latest_of(self, test_ids: Sequence[UUID]) -> dict[UUID, Run]:
        """The newest run of each of these tests."""
        if not test_ids:
            return {}
        wanted = values(column("test_id", Uuid), name="wanted").data([(test_id,) for test_id in test_ids])
        newest = (
            self.narrow(select(Run.id))
            .where(Run.test_id == wanted.c.test_id)
            .order_by(Run.id.desc())
            .limit(1)
            .lateral()
        )
        ids = select(newest.c.id).select_from(wanted.join(newest, true()))
        rows = await self.session.scalars(self._listed().where(Run.id.in_(ids)))
        return {run.test_id: run for run in rows}

    async def scores_of(self, test_ids: Sequence[UUID], limit: int) -> Sequence[tuple[UUID, Decimal]]:
        """Test and score of those of the newest `limit` runs of each test that have one, oldest first."""
        if not test_ids:
            return []
        wanted = values(column("test_id", Uuid), name="wanted").data([(test_id,) for test_id in test_ids])
        newest = (
            self.narrow(select(Run.id, Run.score))
            .where(Run.test_id == wanted.c.test_id)
            .order_by(Run.id.desc())
            .limit(limit)
            .lateral()
        )
        statement = (
            select(wanted.c.test_id, newest.c.score)
            .select_from(wanted.join(newest, true()))
            .where(newest.c.score.is_not(None))
            .order_by(newest.c.id)
        )
        return [(row.test_id, row.score) for row in await self.session.execute(statement)]

    async def some(self, run_ids: Sequence[UUID]) -> Sequence[Run]:
        """Those of these runs that there are, without the large columns."""
        if not run_ids:
            return []
        return (await self.session.scalars(self._listed().where(Run.id.in_(run_ids)))).all()

    def _listed(self) -> Select[Run]:
        """Rows without the columns that may be large."""
        return self.rows().options(defer(Run.definition, raiseload=True), defer(Run.result, raiseload=True))

    async def open_of_test(self, test_id: UUID) -> Sequence[UUID]:
        """Ids of the test's runs that have not ended."""
        statement = self.narrow(select(Run.id).where(Run.test_id == test_id, Run.state.in_(OPEN_STATES)))
        return (await self.session.scalars(statement)).all()

    async def close_pending(self, run_id: UUID, ended: Ended) -> int | None:
        """Write the end of a run that no worker has; the end's number. None if it is not pending."""
        run: Run | None = await self.session.scalar(
            self.narrow(
                update(Run)
                .where(Run.id == run_id, Run.state == "pending")
                .values(
                    state="cancelled",
                    result=result_of(State(), ended),
                    last_seq=Run.last_seq + 1,
                    cancel_requested_at=func.now(),
                    finished_at=func.now(),
                )
                .returning(Run)
            )
        )
        if run is None:
            return None
        self.session.add(
            RunEntry(
                account_id=run.account_id,
                run_id=run.id,
                seq=run.last_seq,
                kind=ended.kind,
                turn=0,
                body=ENTRY.dump_python(ended, mode="json"),
            )
        )
        outbox.add(self.session, run.account_id, outbox.RUN_ENDED, group_id=run.test_id, subject_id=run.id)
        await self.session.flush()
        return run.last_seq

    async def ask_to_cancel(self, run_id: UUID) -> bool:
        """Record that a running run is to end. False if it is not running."""
        statement = self.narrow(
            update(Run)
            .where(Run.id == run_id, Run.state == "running")
            .values(cancel_requested_at=func.coalesce(Run.cancel_requested_at, func.now()))
            .returning(Run.id)
        )
        return await self.session.scalar(statement) is not None

    async def entries(self, run: Run) -> list[Kept]:
        """What was kept of a run, in order."""
        statement = (
            select(RunEntry.seq, RunEntry.body, RunEntry.cost)
            .where(RunEntry.account_id == run.account_id, RunEntry.run_id == run.id)
            .order_by(RunEntry.seq)
        )
        rows = await self.session.execute(statement)
        return [Kept(row.seq, ENTRY.validate_python(row.body), row.cost) for row in rows]
