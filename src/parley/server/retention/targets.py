"""Whose rows of which kind go, and up to which time: the policy, applied to a page of accounts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parley.server.retention.policy import ENDED_STATES, RetentionRules, cut_off


@dataclass(frozen=True, slots=True)
class KeptAccount:
    """An account and its override, if it has one."""

    id: UUID
    override_days: int | None


@dataclass(frozen=True, slots=True)
class AccountPage:
    """Some accounts, in the order of their ids and at least one, and the database's clock."""

    accounts: Sequence[KeptAccount]
    now: datetime

    @property
    def ids(self) -> list[UUID]:
        """Their ids, in order."""
        return [account.id for account in self.accounts]


@dataclass(frozen=True, slots=True)
class RunTarget:
    """The runs of one account and state that ended before a time."""

    account_id: UUID
    state: str
    before: datetime


def run_targets(page: AccountPage, rules: RetentionRules) -> Sequence[RunTarget]:
    """What of the accounts' runs is old."""
    return [
        RunTarget(account.id, state, before)
        for account in page.accounts
        for state in ENDED_STATES
        if (before := cut_off(state, page.now, rules, account.override_days)) is not None
    ]
