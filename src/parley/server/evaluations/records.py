"""Recorded gates: once per evaluation, verdict and caller; a red one is told once per evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from parley.engine.gate.parameters import GateParameters
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import GateRecord
from parley.server.evaluations.repository import GateRepository
from parley.server.evaluations.results import take_hold
from parley.server.evaluations.schemas import GateRecordReply, GateReply
from parley.server.kit.ids import new_id
from parley.server.kit.paging import Paging
from parley.server.kit.schemas import PageInfo
from parley.server.queue import outbox


async def keep(
    session: Session,
    scope: AccountScope,
    reply: GateReply,
    parameters: GateParameters,
    given: Mapping[str, str],
) -> GateReply:
    """Record an answer, unless this evaluation, verdict and caller have one; the answer with its record."""
    evaluation = await take_hold(session, scope, reply.evaluation_id)
    gates, caller = GateRepository(session, scope), parameters.caller or ""
    is_first_red = reply.verdict == "failed" and not await gates.count_red(evaluation.id)
    record_id = new_id()
    values = {
        "account_id": scope.account_id,
        "id": record_id,
        "evaluation_id": evaluation.id,
        "dataset_id": evaluation.dataset_id,
        "suite_id": evaluation.suite_id,
        "name": evaluation.name,
        "branch": evaluation.branch,
        "commit": evaluation.commit,
        "caller": caller,
        "verdict": reply.verdict,
        "parameters": dict(given),
        "answer": reply.model_copy(update={"recorded": True, "gate_id": record_id}).model_dump(mode="json"),
    }
    if await gates.keep(values) is None:
        before = await gates.found(evaluation.id, reply.verdict, caller)
        return reply.model_copy(update={"recorded": True, "gate_id": before.id if before else None})
    if is_first_red:
        outbox.add(
            session, scope.account_id, outbox.GATE_FAILED, group_id=evaluation.id, subject_id=record_id
        )
    return reply.model_copy(update={"recorded": True, "gate_id": record_id})


async def listed(
    session: Session, scope: AccountScope, filters: Mapping[str, Any], paging: Paging
) -> tuple[list[GateRecordReply], PageInfo]:
    """One page of the history, newest first. `filters` are columns of gate records and their values."""
    rows, page = await GateRepository(session, scope).listed(filters, paging)
    return [told(row) for row in rows], page


async def last_parameters(
    session: Session, scope: AccountScope, dataset_id: UUID | None, suite_id: UUID | None
) -> dict[str, str]:
    """The parameters of the newest recorded gate of a dataset or suite; empty without one."""
    row = await GateRepository(session, scope).newest_of_subject(dataset_id, suite_id)
    return dict(row.parameters) if row else {}


def told(row: GateRecord) -> GateRecordReply:
    """A record as it is answered."""
    return GateRecordReply.model_validate(row)
