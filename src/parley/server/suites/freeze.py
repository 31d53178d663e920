"""Freezing cases: each kind as it is kept with an evaluation, and read again when it is begun."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from parley.server.agentic_tests.service import RunBasis, load_for_run
from parley.server.agentic_tests.targets import (
    UNKNOWN_TARGET,
    find_target,
    gateway_target,
    integrated_target,
)
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.definitions.offer import Offer
from parley.server.definitions.snapshot import Snapshot, Target, snapshot
from parley.server.errors import InvalidRequest, NotFound
from parley.server.evaluations.new import NewCase
from parley.server.suites.content import SuiteCase
from parley.server.suites.frozen_script import scripted_case
from parley.server.suites.script import StoredScript
from parley.server.suites.service import UNKNOWN_TEST


async def frozen(
    session: Session,
    scope: AccountScope,
    offer: Offer,
    cases: Sequence[tuple[int, SuiteCase]],
    target: Target | None,
    script: StoredScript | None = None,
    repetitions: int | None = None,
) -> list[NewCase]:
    """The cases as they stand now, each with its place in the suite; tried against `target` if it is given.

    `script` holds the scripted ones, `repetitions` is what was asked for of all. The tests cannot change
    before the transaction ends. Raises `InvalidRequest` naming those that are gone, `LlmsNotConfigured`.
    """
    found: dict[int, NewCase] = {}
    faults = []
    # In one order, whatever the suite's: transactions that hold several tests never wait crosswise.
    for index, case in sorted(cases, key=lambda placed: placed[1].id):
        if case.kind == "scripted" and script is not None:
            found[index] = scripted_case(index, script.suite.case(case.id), script, repetitions)
            continue
        try:
            basis = await load_for_run(session, scope, offer, case.test_id)
        except NotFound:
            faults.append((f"cases.{index}.test_id", UNKNOWN_TEST))
            continue
        found[index] = _simulated(index, basis, target)
    if faults:
        raise InvalidRequest.faults(sorted(faults))
    return [found[index] for index, _ in cases]


def _simulated(index: int, basis: RunBasis, target: Target | None) -> NewCase:
    """A simulated case: its id is the test's, its content the test's revision.

    Another target leaves the content hash as it is: two versions of an agent are compared on equal cases.
    """
    taken = basis.snapshot if target is None else _against(target, basis.snapshot)
    return NewCase(
        case_id=str(basis.test_id),
        index=index,
        kind="simulated",
        name=basis.name,
        content={
            "test_id": str(basis.test_id),
            "external_user_id": basis.external_user_id,
            "snapshot": taken.model_dump(mode="json"),
        },
        content_hash=basis.snapshot.revision,
    )


def thawed(content: Mapping[str, Any]) -> tuple[UUID, str | None, Snapshot]:
    """Of a frozen simulated case: test, external user, and what its runs start from."""
    return (
        UUID(content["test_id"]),
        content["external_user_id"],
        Snapshot.model_validate(content["snapshot"]),
    )


async def target_named(
    session: Session, scope: AccountScope, offer: Offer, reference: str | None
) -> Target | None:
    """The target that is tried in place of the tests' own. Raises `InvalidRequest` for an unknown one."""
    if reference is None:
        return None
    found = await find_target(session, scope, offer.integrated, reference)
    if found is None:
        raise InvalidRequest.field("gateway", UNKNOWN_TARGET)
    if found.gateway is not None:
        return gateway_target(found.gateway)
    return integrated_target(reference, found.llm)


def _against(target: Target, taken: Snapshot) -> Snapshot:
    return snapshot(
        {**taken.fields, "gateway": target.slug},
        target=target,
        profile=taken.profile,
        prompt_versions=taken.prompt_versions,
    )
