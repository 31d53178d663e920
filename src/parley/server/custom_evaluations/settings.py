"""Evaluation settings: reusable graders. They never change, so that runs stay comparable."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from parley.engine.script.revision import digest
from parley.server.custom_evaluations.answers import SettingsReply
from parley.server.custom_evaluations.grader import DEFAULT_PROFILE, Judges
from parley.server.custom_evaluations.lenient import ignored, written
from parley.server.custom_evaluations.repository import SettingsRepository
from parley.server.custom_evaluations.schemas import DEFAULT_PASS_RATING, SettingsIn
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import EvaluationSettings
from parley.server.errors import NotFound
from parley.server.kit.ids import new_id
from parley.server.kit.paging import Paging
from parley.server.kit.schemas import PageInfo


async def create(session: Session, scope: AccountScope, judges: Judges, body: SettingsIn) -> SettingsReply:
    """New settings. Raises `InvalidRequest` for a judge that there is not, `LlmsNotConfigured`."""
    content = {name: value for name, value in written(body).items() if name != "name"}
    judges.facts(content.get("judge", {}))
    row = EvaluationSettings(
        account_id=scope.account_id,
        id=new_id(),
        name=body.name,
        content=content,
        content_hash=digest(content),
    )
    await SettingsRepository(session, scope).add(row)
    await session.refresh(row)
    return _reply(row, ignored(body))


async def show(session: Session, scope: AccountScope, settings_id: UUID) -> SettingsReply:
    """The settings. Raises `NotFound`."""
    return _reply(await require(session, scope, settings_id), [])


async def require(session: Session, scope: AccountScope, settings_id: UUID) -> EvaluationSettings:
    """The row. Raises `NotFound`."""
    row = await SettingsRepository(session, scope).get(settings_id)
    if row is None:
        raise NotFound
    return row


async def listed(
    session: Session, scope: AccountScope, paging: Paging
) -> tuple[list[SettingsReply], PageInfo]:
    """One page, newest first."""
    rows, page = await SettingsRepository(session, scope).listed(paging)
    return [_reply(row, []) for row in rows], page


def _reply(row: EvaluationSettings, ignored_fields: list[str]) -> SettingsReply:
    content: dict[str, Any] = row.content
    return SettingsReply(
        id=row.id,
        name=row.name,
        criteria=content.get("criteria"),
        judge=content.get("judge", {"profile": DEFAULT_PROFILE}),
        votes=content.get("votes", 1),
        checks=content.get("checks", []),
        pass_rating=content.get("passRating", DEFAULT_PASS_RATING),
        content_hash=row.content_hash,
        created_at=row.created_at,
        ignored_fields=ignored_fields,
    )
