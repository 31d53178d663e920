"""Which schedules are accepted. The policy on gaps and dates stands here when schedules do."""

from __future__ import annotations

LONGEST_CRON = 100
"""Characters of a schedule: a generous bound on five fields."""
_FIELDS = 5


def cron_problem(text: str) -> str | None:
    """Why `text` is no schedule, or None. Five fields are wanted: minute, hour, day, month, weekday."""
    if len(text) > LONGEST_CRON:
        return f"must have at most {LONGEST_CRON} characters"
    if len(text.split()) != _FIELDS:
        return "must have five fields: minute, hour, day of month, month, day of week"
    return None
