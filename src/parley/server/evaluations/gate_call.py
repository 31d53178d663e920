"""One call of the gate, as both planes make it: wait for scores, decide, record if asked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final
from uuid import UUID

from fastapi import Request

from parley.engine.gate.parameters import FULL_COVERAGE, PARAMETERS, GateParameters
from parley.server.db.database import Database
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.errors import InvalidRequest, ScopeMissing
from parley.server.evaluations import gate, records
from parley.server.evaluations.read import require
from parley.server.evaluations.repository import GateRepository
from parley.server.evaluations.schemas import GateReply
from parley.server.idempotency import service as idempotency
from parley.server.kit import strictjson
from parley.server.kit.ids import new_id

SCORING_WAIT_S: Final = 10.0
"""How long a call waits for an evaluation that is being scored, before it is refused."""
_LOOK_S: Final = 0.25

Given = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCall:
    """Who asks for the gate of what. With `posted` the answer is recorded, whatever the parameters say."""

    scope: AccountScope
    evaluation_id: UUID
    given: Given
    default_coverage: Fraction | None = None
    posted: bool = False
    may_record: bool = False
    """Whether the caller has the scope for it."""
    key: str | None = None
    """The `Idempotency-Key` of a POST."""
    route: str = ""


async def called(database: Database, call: GateCall, wait_s: float = SCORING_WAIT_S) -> GateReply:
    """The answer. No connection is held while it waits. Raises what `gate.answer` does, and `NotFound`."""
    parameters = gate.parameters_of(call.given, default_coverage=call.default_coverage)
    if parameters.record and not call.may_record:
        raise ScopeMissing.of(["evaluations:write"])
    await _scored(database, call, wait_s)
    async with database.session() as session:
        before = await _before(session, call)
        if before is not None:
            return before
        evaluation = await require(session, call.scope, call.evaluation_id)
        reply = await gate.answer(session, call.scope, evaluation, parameters)
        if not (call.posted or parameters.record):
            return reply
        return await records.keep(session, call.scope, reply, parameters, dict(call.given))


async def given_in(request: Request) -> list[tuple[str, str]]:
    """The parameters of a request, from its query and, of a POST, its JSON. Raises `InvalidRequest`."""
    return [*request.query_params.multi_items(), *_written(await _json(request))]


async def preview(
    session: Session, scope: AccountScope, dataset_id: UUID | None, suite_id: UUID | None, given: Given
) -> GateParameters:
    """What to ask of the newest evaluation: what was given, or what its last recorded gate asked for."""
    asked = list(given)
    if not asked:
        last = await records.last_parameters(session, scope, dataset_id, suite_id)
        asked = [(name, text) for name, text in last.items() if name not in ("record", "caller")]
    return gate.parameters_of(asked, default_coverage=FULL_COVERAGE)


async def _scored(database: Database, call: GateCall, wait_s: float) -> None:
    """Return once the evaluation is not being scored, or the wait is over."""
    for _ in range(int(wait_s / _LOOK_S) + 1):
        if await _state(database, call) != "scoring":
            return
        await asyncio.sleep(_LOOK_S)


async def _state(database: Database, call: GateCall) -> str:
    async with database.session() as session:
        return (await require(session, call.scope, call.evaluation_id)).state


async def _before(session: Session, call: GateCall) -> GateReply | None:
    """The answer that this `Idempotency-Key` has recorded, None if it has not."""
    if call.key is None:
        return None
    record_id = new_id()
    body = strictjson.write(sorted(call.given)).encode()
    made = await idempotency.claim(
        session, call.scope, route=call.route, key=call.key, body=body, new_id=record_id
    )
    if made == record_id:
        return None
    record = await GateRepository(session, call.scope).get(made)
    return GateReply.model_validate(record.answer) if record else None


async def _json(request: Request) -> dict[str, Any]:
    raw = await request.body() if request.method == "POST" else b""
    if not raw.strip():
        return {}
    try:
        value = strictjson.read(raw)
    except strictjson.UnreadableJsonError as fault:
        raise InvalidRequest.field(fault.field, fault.problem) from None
    if not isinstance(value, dict):
        raise InvalidRequest.field("", "should be a JSON object")
    return value


def _written(body: dict[str, Any]) -> Iterable[tuple[str, str]]:
    """The parameters of a JSON object as a query would have them."""
    for name, value in body.items():
        if isinstance(value, bool):
            yield name, "true" if value else "false"
        elif isinstance(value, int | float):
            yield name, f"{Decimal(str(value)):f}"
        elif isinstance(value, str):
            yield name, value
        else:
            raise InvalidRequest.field(name, "should be a text, a number, true or false")


def documented() -> dict[str, Any]:
    """The gate's parameters for OpenAPI; they are read strictly, so FastAPI does not see them."""
    return {
        "parameters": [
            {"name": name, "in": "query", "required": False, "schema": {"type": "string"}}
            for name in PARAMETERS
        ]
    }
