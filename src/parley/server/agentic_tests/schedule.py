"""When a test is due, as its saves leave it and its readers see it. All times are the database's."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from sqlalchemy import func, select

from parley.server.db.session import Session
from parley.server.db.tables.agentic_tests import AgenticTest
from parley.server.definitions.cron import CronRefused, next_fires
from parley.server.definitions.cron_words import described
from parley.server.kit.clock import rfc3339

UPCOMING: Final = 3
"""How many scheduled starts a test tells (product contract)."""


async def reschedule(session: Session, row: AgenticTest) -> None:
    """Give a test its next due time from now on, or none if it is disabled or has no schedule."""
    due = None
    if row.enabled and row.cron is not None:
        [due] = next_fires(row.cron, await _now(session), 1)
    row.next_run_at = row.looked_at_from = due


async def upcoming(session: Session, row: AgenticTest) -> list[datetime]:
    """The next scheduled starts. One that is overdue comes first; what was missed after it never comes."""
    if row.next_run_at is None or row.cron is None:
        return []
    after = max(row.next_run_at, await _now(session))
    try:
        return [row.next_run_at, *next_fires(row.cron, after, UPCOMING - 1)]
    except CronRefused:
        return []


async def preview(session: Session, cron: str) -> tuple[str, list[datetime]]:
    """A schedule as a sentence, and its next starts from now on. Raises `CronRefused`."""
    sentence = described(cron)
    return sentence, next_fires(cron, await _now(session), UPCOMING)


def told(row: AgenticTest) -> str | None:
    """What a saved schedule means, for a person; None for a test without one."""
    if row.next_run_at is None or row.cron is None:
        return None
    return f"Runs {described(row.cron)}; next at {rfc3339(row.next_run_at)}."


def sentence(cron: str | None) -> str | None:
    """A stored schedule in words; None without one, and for one that is accepted no longer."""
    try:
        return None if cron is None else described(cron)
    except CronRefused:
        return None


async def _now(session: Session) -> datetime:
    now: datetime = (await session.execute(select(func.now()))).scalar_one()
    return now
