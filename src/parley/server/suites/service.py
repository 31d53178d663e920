"""Rules of suites."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from sqlalchemy import func

from parley.engine.script.faults import SuiteInvalid
from parley.server.agentic_tests.targets import UNKNOWN_TARGET, find_target
from parley.server.apps.service import find as find_app
from parley.server.attempts.targets import AppTarget, GatewayTarget
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import Suite
from parley.server.definitions.cron import next_fires
from parley.server.errors import InvalidRequest, NotFound
from parley.server.kit.ids import new_id
from parley.server.kit.paging import Paging
from parley.server.kit.schemas import PageInfo
from parley.server.llm.integrated import IntegratedLlms
from parley.server.outbound.guard import OutboundPolicy
from parley.server.suites import content
from parley.server.suites.content import Content
from parley.server.suites.repository import Outline, SuiteRepository
from parley.server.suites.schemas import HowToRun, ScriptBody, SimulatedCase, SuiteChange, SuiteCreate
from parley.server.suites.script import StoredScript, read_script

UNKNOWN_TEST = "is not a test of this account"
"""One wording for unknown and foreign ones, so that nobody can probe other accounts."""
UNKNOWN_SPLIT = "is not a split of this suite"
UNKNOWN_APP = "is not an app of this account"


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A suite with what its row does not hold: its content as read, the names of its tests."""

    row: Suite
    content: Content
    names: dict[UUID, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What suites are checked against."""

    integrated: IntegratedLlms
    policy: OutboundPolicy


async def create(session: Session, scope: AccountScope, rules: Rules, body: SuiteCreate) -> Suite:
    """Store a suite. Raises `InvalidRequest` with every fault; then nothing is stored."""
    script, faults = _script(body.script, rules)
    made = Content(
        description=body.description,
        simulated=tuple(content.simulated(case.test_id, case.splits) for case in body.cases),
        script=None if script is None else script.written(),
        defaults=defaults_of(body.defaults),
    )
    faults += await _faulty_target(session, scope, rules, script)
    await _require_sound(session, scope, rules, made, body.cases, faults)
    row = Suite(account_id=scope.account_id, id=new_id(), name=body.name, content=content.written(made))
    row.cron, row.enabled = body.cron, body.enabled
    await _reschedule(session, scope, row)
    return await SuiteRepository(session, scope).add(row)


async def change(
    session: Session, scope: AccountScope, rules: Rules, suite_id: UUID, body: SuiteChange
) -> Suite:
    """Change what a body sends. Raises `NotFound`, or `InvalidRequest` with every fault.

    Other cases make a new version. Evaluations that have begun keep what they began with.
    """
    row = await _live(session, scope, suite_id, lock=True)
    sent, before = body.model_fields_set, content.read(row.content)
    script, faults = _script(body.script, rules)
    made = _changed(before, body, script)
    faults += [(name, "must not be null") for name in sorted(_nulls(body))]
    faults += await _faulty_target(session, scope, rules, script)
    await _require_sound(session, scope, rules, made, body.cases, faults)
    if (made.simulated, made.script) != (before.simulated, before.script):
        row.version += 1
    row.name = body.name or row.name
    row.content = content.written(made)
    schedule = row.cron, row.enabled
    row.cron = body.cron if "cron" in sent else row.cron
    row.enabled = row.enabled if body.enabled is None else body.enabled
    if schedule != (row.cron, row.enabled):
        await _reschedule(session, scope, row)
    await session.flush()
    return row


async def delete(session: Session, scope: AccountScope, suite_id: UUID) -> None:
    """Hide a suite and end its schedule. Evaluations of it stay, and go on. Raises `NotFound`."""
    row = await _live(session, scope, suite_id, lock=True)
    row.deleted_at, row.next_run_at = func.now(), None
    await session.flush()


async def found(session: Session, scope: AccountScope, suite_id: UUID) -> Described:
    """A suite with the names of its tests. Raises `NotFound`."""
    row = await _live(session, scope, suite_id)
    read = content.read(row.content)
    names = await SuiteRepository(session, scope).test_names(
        scope.account_id, [case.test_id for case in read.simulated]
    )
    return Described(row=row, content=read, names=names)


async def listed(
    session: Session, scope: AccountScope, paging: Paging
) -> tuple[list[tuple[Suite, Outline]], PageInfo]:
    """One page of the account's suites, newest first, each with what a list tells of its content."""
    suites = SuiteRepository(session, scope)
    rows, page = await suites.page(suites.listed(), paging)
    outlines = await suites.outlines(scope.account_id, [row.id for row in rows])
    return [(row, outlines[row.id]) for row in rows], page


def defaults_of(given: HowToRun) -> dict[str, Any]:
    """What of a start is stored: the fields that were given."""
    return given.model_dump(mode="json", exclude_none=True)


def _script(body: ScriptBody | None, rules: Rules) -> tuple[StoredScript | None, list[tuple[str, str]]]:
    """The script of a body, if it has one that is sound, and what is wrong with it."""
    if body is None:
        return None, []
    try:
        return read_script(body, rules.policy), []
    except SuiteInvalid as invalid:
        return None, [(problem.path, problem.message) for problem in invalid.problems]


async def _faulty_target(
    session: Session, scope: AccountScope, rules: Rules, script: StoredScript | None
) -> list[tuple[str, str]]:
    """Whether what a script is played against is there."""
    match script and script.target:
        case GatewayTarget() as target:
            if await find_target(session, scope, rules.integrated, target.gateway) is None:
                return [("script.target.gateway", UNKNOWN_TARGET)]
        case AppTarget() as target:
            if await find_app(session, scope, target.app) is None:
                return [("script.target.app", UNKNOWN_APP)]
    return []


def _changed(before: Content, body: SuiteChange, script: StoredScript | None) -> Content:
    made = before
    if "description" in body.model_fields_set:
        made = replace(made, description=body.description)
    if body.cases is not None:
        cases = tuple(content.simulated(case.test_id, case.splits) for case in body.cases)
        made = replace(made, simulated=cases)
    if "script" in body.model_fields_set:
        made = replace(made, script=None if script is None else script.written())
    if body.defaults is not None:
        made = replace(made, defaults=defaults_of(body.defaults))
    return made


def _nulls(body: SuiteChange) -> list[str]:
    """Fields that were sent as null and may not be."""
    may_be_null = {"description", "cron", "script"}
    return [name for name in body.model_fields_set - may_be_null if getattr(body, name) is None]


async def _require_sound(
    session: Session,
    scope: AccountScope,
    rules: Rules,
    made: Content,
    given: Sequence[SimulatedCase] | None,
    known: Sequence[tuple[str, str]],
) -> None:
    """Raises `InvalidRequest` with the faults that are `known` and all others."""
    faults = [*known, *await _faulty_cases(session, scope, given or ())]
    if not made.cases and not faults:
        faults.append(("cases", "must have at least one item, or the suite a script"))
    both = {case.id for case in made.simulated} & {case.id for case in made.scripted}
    faults += [("script.suite.cases", f"has the id of a simulated case: {one}") for one in sorted(both)]
    split, gateway = made.defaults.get("split"), made.defaults.get("gateway")
    if split is not None and split not in made.splits:
        faults.append(("defaults.split", UNKNOWN_SPLIT))
    if gateway is not None and await find_target(session, scope, rules.integrated, gateway) is None:
        faults.append(("defaults.gateway", UNKNOWN_TARGET))
    if faults:
        raise InvalidRequest.faults(faults)


async def _faulty_cases(
    session: Session, scope: AccountScope, given: Sequence[SimulatedCase]
) -> list[tuple[str, str]]:
    ids = [case.test_id for case in given]
    known = await SuiteRepository(session, scope).test_names(scope.account_id, ids) if ids else {}
    return list(_told_faults(ids, known.keys()))


def _told_faults(ids: Sequence[UUID], known: Collection[UUID]) -> Iterator[tuple[str, str]]:
    seen: set[UUID] = set()
    for at, test_id in enumerate(ids):
        if test_id not in known:
            yield f"cases.{at}.test_id", UNKNOWN_TEST
        elif test_id in seen:
            yield f"cases.{at}.test_id", "is in this suite already; use repetitions to run it more often"
        seen.add(test_id)


async def _reschedule(session: Session, scope: AccountScope, row: Suite) -> None:
    due = None
    if row.enabled and row.cron is not None:
        [due] = next_fires(row.cron, await SuiteRepository(session, scope).now(), 1)
    row.next_run_at = due


async def _live(session: Session, scope: AccountScope, suite_id: UUID, *, lock: bool = False) -> Suite:
    row = await SuiteRepository(session, scope).get_live(suite_id, lock=lock)
    if row is None:
        raise NotFound
    return row
