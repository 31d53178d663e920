"""SQL of tests, and the look at gateways that a test's target needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, cast
from uuid import UUID

from sqlalchemy import Select, func, text, update
from sqlalchemy.orm import defer

from parley.server.db.repository import Repository
from parley.server.db.tables.agentic_tests import AgenticTest
from parley.server.db.tables.ai_gateways import AiGateway
from parley.server.gateways.use import UsingTest

Lock: TypeAlias = Literal["to_change", "against_change"]
"""Held alone by who changes a test, together by those whose work must not see it change or go."""


class AgenticTestRepository(Repository[AgenticTest]):
    """The tests of an account that are not deleted."""

    table = AgenticTest

    def live(self) -> Select[AgenticTest]:
        """A SELECT of the tests that are not deleted."""
        return self.rows().where(AgenticTest.deleted_at.is_(None))

    async def get_live(self, test_id: UUID, lock: Lock | None = None) -> AgenticTest | None:
        """The test, unless it is deleted, held to the end of the transaction if a lock is asked for."""
        statement = self.live().where(AgenticTest.id == test_id)
        if lock is not None:
            statement = statement.with_for_update(read=lock == "against_change")
        return cast("AgenticTest | None", await self.session.scalar(statement))

    async def plan_for_this_search(self) -> None:
        """Have this transaction's statements planned for their values.

        Whether names are looked up by their trigrams or read one by one depends on what is searched for,
        which a plan kept for any search cannot know.
        """
        await self.session.execute(text("SET LOCAL plan_cache_mode = force_custom_plan"))

    def listed(self, search: str | None, target: UUID | str | None) -> Select[AgenticTest]:
        """A SELECT for a list, without the large fields. `target` is a gateway's id or `@vendor/name`."""
        statement = self.live().options(defer(AgenticTest.fields, raiseload=True))
        if search:
            statement = statement.where(AgenticTest.name.icontains(search, autoescape=True))
        if target is not None:
            statement = statement.where(
                AgenticTest.integrated_llm == target
                if isinstance(target, str)
                else AgenticTest.gateway_id == target
            )
        return statement

    async def mark_deleted(self, test_id: UUID) -> bool:
        """Hide a test and let its gateway go. False if there is no such test."""
        statement = self.narrow(update(AgenticTest)).where(
            AgenticTest.id == test_id, AgenticTest.deleted_at.is_(None)
        )
        found = await self.session.execute(
            statement.values(
                deleted_at=func.now(),
                gateway_id=None,
                next_run_at=None,
                looked_at_from=None,
                updated_at=AgenticTest.updated_at,
            ).returning(AgenticTest.id)
        )
        return found.first() is not None

    async def using(self, gateway_id: UUID, most: int) -> Sequence[UsingTest]:
        """Up to `most` tests that target this gateway, by name."""
        statement = self.live().where(AgenticTest.gateway_id == gateway_id)
        rows = await self.session.execute(
            statement.with_only_columns(AgenticTest.id, AgenticTest.name)
            .order_by(AgenticTest.name, AgenticTest.id)
            .limit(most)
        )
        return [UsingTest(row.id, row.name) for row in rows]


class GatewayView(Repository[AiGateway]):
    """The account's gateways, as targets of tests. Reads only."""

    table = AiGateway

    async def hold(self, gateway_id: UUID) -> bool:
        """Keep a gateway from being deleted until the transaction ends. False if it is gone."""
        statement = self.rows().where(AiGateway.id == gateway_id).with_only_columns(AiGateway.id)
        return await self.session.scalar(statement.with_for_update(read=True, key_share=True)) is not None

    async def slugs(self, gateway_ids: Sequence[UUID]) -> dict[UUID, str]:
        """The slugs of these gateways."""
        statement = self.rows().where(AiGateway.id.in_(gateway_ids))
        rows = await self.session.execute(statement.with_only_columns(AiGateway.id, AiGateway.slug))
        return {row.id: row.slug for row in rows}
