"""Suites as they go out."""

from __future__ import annotations

from typing import Any

from parley.server.agentic_tests.schedule import sentence
from parley.server.db.tables import Suite
from parley.server.suites import content
from parley.server.suites.content import Content, SuiteCase
from parley.server.suites.schemas import CaseReply, SkippedStart, SuiteDetail, SuiteLine
from parley.server.suites.service import Described


def line(row: Suite) -> SuiteLine:
    """A suite in a list."""
    return SuiteLine(**_facts(row, content.read(row.content)))


def detail(described: Described) -> SuiteDetail:
    """A whole suite."""
    cases = [_case(case, described) for case in described.content.cases]
    return SuiteDetail(
        **_facts(described.row, described.content), cases=cases, defaults=dict(described.content.defaults)
    )


def _case(case: SuiteCase, described: Described) -> CaseReply:
    return CaseReply(
        id=case.id,
        kind=case.kind,
        test_id=case.test_id,
        name=described.names.get(case.test_id),
        splits=list(case.splits),
    )


def _facts(row: Suite, read: Content) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "description": read.description,
        "version": row.version,
        "case_count": len(read.cases),
        "splits": read.splits,
        "cron": row.cron,
        "schedule": sentence(row.cron),
        "enabled": row.enabled,
        "next_run_at": row.next_run_at,
        "last_skip": _last_skip(row),
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }


def _last_skip(row: Suite) -> SkippedStart | None:
    if row.last_skip_due_at is None or row.last_skip_reason is None:
        return None
    return SkippedStart(due_at=row.last_skip_due_at, reason=row.last_skip_reason)
