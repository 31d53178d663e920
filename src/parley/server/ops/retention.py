"""Retention by hand: a look at what would go, one pass now, and the time an account's runs are kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from parley.server.config import DatabaseSettings, RetentionSettings
from parley.server.db.database import Database, PoolOptions
from parley.server.operators.acts import record
from parley.server.retention.overrides import override_of, set_override
from parley.server.retention.policy import ENDED_STATES, OTHER_KINDS
from parley.server.retention.preview import AccountPreview, preview
from parley.server.retention.tick import Pass, Retention
from parley.server.wiring import retention_rules_of

_COLUMNS = (*ENDED_STATES, "of deleted tests", *OTHER_KINDS)
_ID_WIDTH = 36


async def look() -> AsyncIterator[str]:
    """What a pass would remove, as lines of a table. Changes nothing. Raises `DatabaseAway`."""
    totals = [0] * len(_COLUMNS)
    yield _line("account", _COLUMNS)
    async with _database() as database:
        async for account in preview(database, retention_rules_of(RetentionSettings())):
            counts = _counts(account)
            totals = [total + count for total, count in zip(totals, counts, strict=True)]
            yield _line(str(account.account_id), counts) + _kept(account.override_days)
    yield _line("all", totals)


async def remove() -> Pass:
    """One pass now. Raises `DatabaseAway`."""
    settings = RetentionSettings()
    async with _database() as database:
        rules = retention_rules_of(settings)
        return await Retention(database, rules, settings.batch_size, settings.tick_s).once()


async def keep(account_id: UUID, days: int | None) -> None:
    """Keep an account's runs for `days` from their end; None: as everyone's.

    Raises `NotFound`, `InvalidRequest`, `DatabaseAway`.
    """
    async with _database() as database, database.session() as session:
        before = await override_of(session, account_id)
        await set_override(session, account_id, days)
        await record(session, "command", "account.retention", account_id, days=days, before=before)


async def kept(account_id: UUID) -> str:
    """A sentence on how long an account's runs are kept. Raises `NotFound` and `DatabaseAway`."""
    async with _database() as database, database.session() as session:
        days = await override_of(session, account_id)
    if days is None:
        return f"Runs are kept as everyone's: {RetentionSettings().run_days} days from their end."
    return f"Runs are kept {days} days from their end."


def _counts(account: AccountPreview) -> list[int]:
    return [*(account.aged[state] for state in ENDED_STATES), account.orphaned, *account.other.values()]


def _line(first: str, cells: tuple[str, ...] | list[int]) -> str:
    widths = [max(len(name), 9) for name in _COLUMNS]
    padded = [f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)]
    return "  ".join([f"{first:<{_ID_WIDTH}}", *padded])


def _kept(override_days: int | None) -> str:
    return "" if override_days is None else f"  (kept {override_days} days)"


@asynccontextmanager
async def _database() -> AsyncIterator[Database]:
    settings = DatabaseSettings()
    options = PoolOptions(
        size=2,
        statement_timeout_s=settings.statement_timeout_s,
        connect_timeout_s=settings.connect_timeout_s,
        pooler_mode=settings.pooler_mode,
        application_name="parley-retention",
    )
    database = Database(settings.url.get_secret_value(), options)
    try:
        yield database
    finally:
        await database.close()
