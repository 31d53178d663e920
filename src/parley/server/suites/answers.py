"""Suites as they go out."""

from __future__ import annotations

from typing import Any

from parley.engine.script.revision import suite_revision
from parley.engine.script.shapes import Suite
from parley.server.agentic_tests.schedule import sentence
from parley.server.db.tables import Suite as SuiteRow
from parley.server.suites.content import Content, SuiteCase
from parley.server.suites.repository import Outline
from parley.server.suites.schemas import CaseReply, SkippedStart, SuiteDetail, SuiteLine
from parley.server.suites.service import Described


def line(row: SuiteRow, outline: Outline) -> SuiteLine:
    """A suite in a list."""
    return SuiteLine(**_facts(row, outline))


def detail(described: Described) -> SuiteDetail:
    """A whole suite."""
    read = described.content
    cases = [_case(case, described) for case in read.cases]
    outline = Outline(description=read.description, case_count=len(cases), splits=read.splits)
    return SuiteDetail(
        **_facts(described.row, outline),
        cases=cases,
        script=_script(read),
        defaults=dict(read.defaults),
    )


def _case(case: SuiteCase, described: Described) -> CaseReply:
    is_test = case.kind == "simulated"
    name = described.names.get(case.test_id) if is_test else case.body.get("name") or case.id
    return CaseReply(
        id=case.id,
        kind=case.kind,
        test_id=case.test_id if is_test else None,
        name=name,
        splits=list(case.splits),
    )


def _script(read: Content) -> dict[str, Any] | None:
    if read.script is None:
        return None
    return {**read.script, "revision": suite_revision(Suite.of_wire(read.script["suite"]))}


def _facts(row: SuiteRow, outline: Outline) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "description": outline.description,
        "version": row.version,
        "case_count": outline.case_count,
        "splits": outline.splits,
        "cron": row.cron,
        "schedule": sentence(row.cron),
        "enabled": row.enabled,
        "next_run_at": row.next_run_at,
        "last_skip": _last_skip(row),
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }


def _last_skip(row: SuiteRow) -> SkippedStart | None:
    if row.last_skip_due_at is None or row.last_skip_reason is None:
        return None
    return SkippedStart(due_at=row.last_skip_due_at, reason=row.last_skip_reason)
