"""The cut-off policy: what is old enough to go. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias, get_args

EXECUTED_STATES: Final = ("succeeded", "failed")
ENDED_STATES: Final = (*EXECUTED_STATES, "cancelled")
"""States of runs that may go. A pending or running run never does, however old it is."""

SHORTEST_DAYS: Final = 1
LONGEST_DAYS: Final = 36_500
"""Bounds of an account's override, days: a century is as good as for ever, and still a date."""

DELETED_GRACE: Final = timedelta(minutes=10)
"""How long what belongs to a deleted test stays after its end: whoever watches a run that was cancelled
with its test still reads how it ended, and reactions to that end find it (our choice)."""

OtherKind: TypeAlias = Literal[
    "direct evaluations", "notifications", "unanswered ends", "quota units", "idempotency keys"
]
OTHER_KINDS: Final[tuple[OtherKind, ...]] = get_args(OtherKind)
"""What goes beside runs and tests, as logs and reports call it."""

QUOTA_UNITS_KEPT: Final = timedelta(hours=1)
"""A unit of quota counts for one minute; the rest is room for a clock that was set back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionRules:
    """How long everyone's rows are kept, from their end."""

    executed: timedelta
    """Runs that succeeded or failed."""
    cancelled: timedelta
    accounting: timedelta
    """Rows of direct evaluations, which have no content."""
    notifications: timedelta
    """Notifications with their deliveries, from the moment they were written."""

    @property
    def unanswered(self) -> timedelta:
        """How long an end waits for a reaction: as long as everyone's runs are there to react to."""
        return self.executed


def kept_for(state: str, rules: RetentionRules, override_days: int | None) -> timedelta | None:
    """How long a run of this state is kept from its end; None: for ever, since it has not ended.

    An override stands in for the time of executed runs. Cancelled ones never stay longer than those.
    """
    if state not in ENDED_STATES:
        return None
    executed = rules.executed if override_days is None else timedelta(days=override_days)
    return executed if state in EXECUTED_STATES else min(rules.cancelled, executed)


def cut_off(state: str, now: datetime, rules: RetentionRules, override_days: int | None) -> datetime | None:
    """Runs of this state that ended before this time go; None: none does."""
    kept = kept_for(state, rules, override_days)
    return None if kept is None else now - kept
