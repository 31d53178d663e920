"""Rules of tests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID

from parley.server.agentic_tests.repository import AgenticTestRepository, GatewayView, Lock
from parley.server.agentic_tests.schedule import reschedule, upcoming
from parley.server.agentic_tests.targets import (
    UNKNOWN_TARGET,
    FoundTarget,
    find_target,
    gateway_target,
    integrated_target,
)
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables.agentic_tests import AgenticTest
from parley.server.definitions.faults import DefinitionRefused, Fault, top_of
from parley.server.definitions.offer import Offer
from parley.server.definitions.read import read_change, read_definition
from parley.server.definitions.schemas import Definition, stored
from parley.server.definitions.snapshot import Snapshot, Target, snapshot
from parley.server.errors import InvalidRequest, NotFound
from parley.server.gateways.service import find
from parley.server.gateways.use import MOST_NAMED, UsingTest
from parley.server.kit.ids import new_id
from parley.server.kit.paging import Paging
from parley.server.kit.schemas import PageInfo
from parley.server.llm.integrated import is_integrated

COLUMNS = (
    "name",
    "cron",
    "enabled",
    "failure_notification",
    "notification_threshold",
    "recovery_notification",
    "outcome_notification",
)
"""Fields of a definition that are columns of their own; beside them stands the gateway."""

CancelOpen: TypeAlias = Callable[[Session, AccountScope, UUID], Awaitable[None]]
"""Cancels every open run of a test, within the transaction that deletes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBasis:
    """What a run of a test starts from: its row's identity, and the snapshot to keep with the run.

    `gateway_id` is None for an integrated llm. `seed` is None when the start has to draw one.
    """

    test_id: UUID
    name: str
    gateway_id: UUID | None
    seed: int | None
    external_user_id: str | None
    snapshot: Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A test with what its row does not hold: all fields as sent, its target, revision and next starts."""

    row: AgenticTest
    fields: dict[str, Any]
    snapshot: Snapshot
    upcoming: list[datetime]


async def create(session: Session, scope: AccountScope, offer: Offer, body: object) -> AgenticTest:
    """Store the test a body describes. Raises `InvalidRequest` with every fault; then nothing is stored."""
    definition, target = await _checked(session, scope, offer, body, None)
    row = AgenticTest(account_id=scope.account_id, id=new_id())
    _write(row, definition, target)
    await reschedule(session, row)
    return await AgenticTestRepository(session, scope).add(row)


async def change(
    session: Session, scope: AccountScope, offer: Offer, test_id: UUID, body: object
) -> AgenticTest:
    """Change what a body sends. Raises `NotFound`, or `InvalidRequest` with every fault.

    A change of anything but the schedule leaves a test due when it was.
    """
    row = await _live(session, scope, test_id, "to_change")
    before = definition_of(row, await _target_name(session, scope, row))
    definition, target = await _checked(session, scope, offer, body, before)
    _write(row, definition, target)
    if row.next_run_at is None or (row.cron, row.enabled) != (before["cron"], before["enabled"]):
        await reschedule(session, row)
    await session.flush()
    return row


async def delete(session: Session, scope: AccountScope, cancel_open: CancelOpen, test_id: UUID) -> None:
    """Hide a test at once and cancel its open runs. Raises `NotFound`."""
    if not await AgenticTestRepository(session, scope).mark_deleted(test_id):
        raise NotFound
    await cancel_open(session, scope, test_id)


async def require(session: Session, scope: AccountScope, test_id: UUID) -> None:
    """Raises `NotFound` unless the account has this test."""
    await _live(session, scope, test_id)


async def describe(session: Session, scope: AccountScope, offer: Offer, test_id: UUID) -> Described:
    """A test with its revision as of now. Raises `NotFound`."""
    row = await _live(session, scope, test_id)
    fields, taken = await _taken(session, scope, offer, row)
    return Described(row=row, fields=fields, snapshot=taken, upcoming=await upcoming(session, row))


async def load_for_run(session: Session, scope: AccountScope, offer: Offer, test_id: UUID) -> RunBasis:
    """What a run of this test starts from, as of now.

    The test can neither change nor be deleted before the transaction ends, so a run that is stored in it
    is found by the deletion that comes after. Raises `NotFound`, `InvalidRequest` when the test's
    integrated llm is no longer on offer, and `LlmsNotConfigured`.
    """
    row = await _live(session, scope, test_id, "against_change")
    offer.profile_to_play(row.fields["profile"])
    fields, taken = await _taken(session, scope, offer, row)
    if row.integrated_llm is not None and offer.integrated.find(row.integrated_llm) is None:
        raise InvalidRequest.field("gateway", UNKNOWN_TARGET)
    return RunBasis(
        test_id=row.id,
        name=row.name,
        gateway_id=row.gateway_id,
        seed=fields["seed"],
        external_user_id=fields["external_user_id"],
        snapshot=taken,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTest:
    """A row of a list and the name of its target. The large fields are not loaded."""

    row: AgenticTest
    gateway: str


async def listed(
    session: Session, scope: AccountScope, paging: Paging, *, search: str | None, gateway: str | None
) -> tuple[Sequence[ListedTest], PageInfo]:
    """A page of tests, newest first; `search` looks into names, `gateway` is a slug, id or `@vendor/name`."""
    tests = AgenticTestRepository(session, scope)
    target = await _filtered_target(session, scope, gateway) if gateway else None
    if search:
        await tests.plan_for_this_search()
    rows, page = await tests.page(tests.listed(search, target), paging)
    gateway_ids = {row.gateway_id for row in rows if row.gateway_id is not None}
    slugs = await GatewayView(session, scope).slugs(list(gateway_ids)) if gateway_ids else {}
    return [ListedTest(row=row, gateway=_listed_name(row, slugs)) for row in rows], page


async def definitions(
    session: Session, scope: AccountScope, test_ids: Sequence[UUID]
) -> list[dict[str, Any]]:
    """All fields of these tests, in this order. Raises `NotFound` if one of them is missing."""
    found = []
    for test_id in test_ids:
        row = await _live(session, scope, test_id)
        found.append(definition_of(row, await _target_name(session, scope, row)))
    return found


async def using_gateway(session: Session, scope: AccountScope, gateway_id: UUID) -> Sequence[UsingTest]:
    """The tests that keep a gateway from being deleted: what `GatewayUse` wants to be handed."""
    return await AgenticTestRepository(session, scope).using(gateway_id, MOST_NAMED)


def definition_of(row: AgenticTest, gateway: str) -> dict[str, Any]:
    """All fields of a row's definition, its gateway called `gateway`."""
    return row.fields | {column: getattr(row, column) for column in COLUMNS} | {"gateway": gateway}


async def _checked(
    session: Session, scope: AccountScope, offer: Offer, body: object, before: Mapping[str, Any] | None
) -> tuple[Definition, FoundTarget | None]:
    """The definition, and its target where the body names one. A wrong target is told with the rest."""
    faults: list[Fault] = []
    definition = None
    try:
        definition = read_definition(body) if before is None else read_change(body, before)
    except DefinitionRefused as refused:
        faults.extend(refused.faults)
    reference = body.get("gateway") if isinstance(body, dict) else None
    target = None
    if isinstance(reference, str) and all(top_of(fault.field) != "gateway" for fault in faults):
        target = await find_target(session, scope, offer.integrated, reference)
        if target is None:
            faults.append(Fault(field="gateway", problem=UNKNOWN_TARGET))
    if faults or definition is None:
        raise InvalidRequest.faults((fault.field, fault.problem) for fault in faults)
    return definition, target


def _write(row: AgenticTest, definition: Definition, target: FoundTarget | None) -> None:
    fields = stored(definition)
    for column in COLUMNS:
        setattr(row, column, fields.pop(column))
    del fields["gateway"]
    row.fields = fields
    if target is not None:
        row.gateway_id = target.gateway_id
        row.integrated_llm = target.integrated_llm


async def _live(
    session: Session, scope: AccountScope, test_id: UUID, lock: Lock | None = None
) -> AgenticTest:
    row = await AgenticTestRepository(session, scope).get_live(test_id, lock)
    if row is None:
        raise NotFound
    return row


async def _taken(
    session: Session, scope: AccountScope, offer: Offer, row: AgenticTest
) -> tuple[dict[str, Any], Snapshot]:
    """All fields of a test, and its snapshot as of now."""
    target = await _target_of(session, scope, offer, row)
    fields = definition_of(row, target.slug)
    taken = snapshot(
        fields,
        target=target,
        profile=offer.profile_facts(fields["profile"]),
        prompt_versions=offer.prompt_versions,
    )
    return fields, taken


async def _target_of(session: Session, scope: AccountScope, offer: Offer, row: AgenticTest) -> Target:
    if row.integrated_llm is not None:
        return integrated_target(row.integrated_llm, offer.integrated.find(row.integrated_llm))
    gateway = None if row.gateway_id is None else await GatewayView(session, scope).get(row.gateway_id)
    if gateway is None:
        raise NotFound
    return gateway_target(gateway)


async def _target_name(session: Session, scope: AccountScope, row: AgenticTest) -> str:
    if row.integrated_llm is not None:
        return row.integrated_llm
    slugs = {} if row.gateway_id is None else await GatewayView(session, scope).slugs([row.gateway_id])
    return _listed_name(row, slugs)


async def _filtered_target(session: Session, scope: AccountScope, reference: str) -> UUID | str:
    """What a list is filtered by; an unknown gateway fits no test, as no slug of an llm is like it."""
    gateway = None if is_integrated(reference) else await find(session, scope, reference)
    return reference if gateway is None else gateway.id


def _listed_name(row: AgenticTest, slugs: Mapping[UUID, str]) -> str:
    if row.integrated_llm is not None or row.gateway_id is None:
        return row.integrated_llm or ""
    return slugs[row.gateway_id]
