"""What a pass of retention would remove of each account, counted and left alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from parley.server.db.database import Database
from parley.server.idempotency.service import KEPT_FOR
from parley.server.retention.policy import (
    ENDED_STATES,
    OTHER_KINDS,
    QUOTA_UNITS_KEPT,
    OtherKind,
    RetentionRules,
)
from parley.server.retention.repository import RetentionRepository
from parley.server.retention.targets import run_targets
from parley.server.retention.tick import PAGE, SCOPE


@dataclass(slots=True, kw_only=True)
class AccountPreview:
    """Rows of one account that would go. A run is counted once: by its age, or else with its test."""

    account_id: UUID
    override_days: int | None
    aged: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ENDED_STATES, 0))
    """Runs by state."""
    orphaned: int = 0
    """Runs of deleted tests that are not old yet."""
    other: dict[OtherKind, int] = field(default_factory=lambda: dict.fromkeys(OTHER_KINDS, 0))
    """Rows of everything else by kind."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing would go."""
        return not (any(self.aged.values()) or self.orphaned or any(self.other.values()))


async def preview(database: Database, rules: RetentionRules) -> AsyncIterator[AccountPreview]:
    """Every account of which something would go, in the order of their ids."""
    after: UUID | None = None
    while True:
        async with database.raw() as connection:
            found = await _page_after(RetentionRepository(connection, SCOPE), after, rules)
        if not found:
            return
        after = found[-1].account_id
        for account in found:
            if not account.is_empty:
                yield account


async def _page_after(
    rows: RetentionRepository, after: UUID | None, rules: RetentionRules
) -> list[AccountPreview]:
    page = await rows.accounts_after(after, PAGE)
    if page is None:
        return []
    accounts = {
        account.id: AccountPreview(account_id=account.id, override_days=account.override_days)
        for account in page.accounts
    }
    for counted in await rows.count_runs(run_targets(page, rules)):
        account = accounts[counted.account_id]
        account.aged[counted.state] += counted.aged
        account.orphaned += counted.orphaned
    for kind, kept in _kept_of_others(rules).items():
        for account_id, count in (await rows.count_other(kind, page.ids, kept)).items():
            accounts[account_id].other[kind] = count
    return list(accounts.values())


def _kept_of_others(rules: RetentionRules) -> dict[OtherKind, timedelta]:
    return {
        "direct evaluations": rules.accounting,
        "notifications": rules.notifications,
        "unanswered ends": rules.unanswered,
        "quota units": QUOTA_UNITS_KEPT,
        "idempotency keys": KEPT_FOR,
    }
