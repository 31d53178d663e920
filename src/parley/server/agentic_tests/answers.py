"""Tests as they go out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from parley.server.agentic_tests.schedule import sentence
from parley.server.agentic_tests.schemas import AgenticTestDetail, LastSkip, ListedAgenticTest
from parley.server.agentic_tests.service import Described, ListedTest
from parley.server.db.tables.agentic_tests import AgenticTest
from parley.server.runs.schemas import RunSummary


def lines(
    tests: Sequence[ListedTest],
    latest: Mapping[UUID, RunSummary],
    scores: Mapping[UUID, list[float]] | None,
) -> list[ListedAgenticTest]:
    """Tests in a list, with scores if there are any to tell."""
    return [
        ListedAgenticTest(
            **_facts(test.row),
            name=test.row.name,
            gateway=test.gateway,
            cron=test.row.cron,
            enabled=test.row.enabled,
            latest_run=latest.get(test.row.id),
            scores=None if scores is None else scores.get(test.row.id, []),
        )
        for test in tests
    ]


def detail(described: Described, latest: RunSummary | None) -> AgenticTestDetail:
    """A whole test."""
    return AgenticTestDetail(
        **_facts(described.row),
        **described.fields,
        revision=described.snapshot.revision,
        upcoming=described.upcoming,
        latest_run=latest,
    )


def _facts(row: AgenticTest) -> dict[str, Any]:
    skipped_at, reason = row.last_skip_due_at, row.last_skip_reason
    return {
        "id": row.id,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "schedule": sentence(row.cron),
        "next_run_at": row.next_run_at,
        "last_skip": None if skipped_at is None else LastSkip(due_at=skipped_at, reason=reason or ""),
        "consecutive_failures": row.consecutive_failures,
        "last_notification_at": row.last_notification_at,
    }
