"""Freezing the scripted part of a suite: its cases, what they are played against, who judges them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parley.engine.script.compaction import COMPACTION_VERSION
from parley.engine.script.revision import digest, effective_evidence
from parley.engine.script.rubric import RUBRIC_VERSION
from parley.engine.script.shapes import Case
from parley.server.agentic_tests.targets import (
    UNKNOWN_TARGET,
    find_target,
    gateway_target,
    integrated_target,
)
from parley.server.apps.service import find as find_app
from parley.server.attempts.plans import Script
from parley.server.attempts.targets import AppTarget, GatewayTarget, SuiteTarget
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import RemoteApp
from parley.server.definitions.offer import Offer
from parley.server.definitions.snapshot import Target
from parley.server.errors import InvalidRequest
from parley.server.evaluations.new import NewCase
from parley.server.script_judge.judge import identity_of
from parley.server.suites.script import Judging, StoredScript
from parley.server.suites.service import UNKNOWN_APP

SENT_IN = "is played in your own process: run it there and send in what came of it"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenScript:
    """What an evaluation's scripted cases are played by."""

    script: Script
    grading: Mapping[str, Any]
    """What of it makes evaluations graded alike."""


async def frozen_script(
    session: Session,
    scope: AccountScope,
    offer: Offer,
    stored: StoredScript,
    *,
    judge: Judging | None,
    instead: Target | None,
) -> FrozenScript:
    """The script as it stands now, played against `instead` if that is given.

    Raises `InvalidRequest` for a target that is gone, or that we cannot play; `LlmsNotConfigured`.
    """
    target = await _target(session, scope, offer, stored.target, instead)
    judging = await _judge(session, scope, offer, stored, judge or stored.judge)
    return FrozenScript(
        script=Script(suite=stored.suite, target=target, judge=judging),
        grading={
            "judge": judging and judging["identity"],
            "rubric": RUBRIC_VERSION,
            "compaction": COMPACTION_VERSION,
        },
    )


def scripted_case(index: int, case: Case, stored: StoredScript, repetitions: int | None) -> NewCase:
    """A case as it is kept with an evaluation. Another gateway leaves its content hash as it is."""
    asked = {
        "params": case.params,
        "steps": [step.wire() for step in case.steps],
        "onSemanticFailure": stored.suite.on_semantic_failure,
        "world": _world(stored.target),
    }
    return NewCase(
        case_id=case.id,
        index=index,
        kind="scripted",
        name=case.name or case.id,
        content=case.wire(),
        content_hash=digest(asked),
        grader_hash=digest(effective_evidence(stored.suite).wire()),
        repetitions=repetitions or case.repetitions,
    )


def _world(target: SuiteTarget) -> dict[str, Any]:
    """What of a target is part of the question: what tools give and how pauses are answered."""
    if not isinstance(target, GatewayTarget):
        return {"type": target.type}
    told = target.wire()
    return {name: told[name] for name in told.keys() - {"gateway", "model"}}


async def _target(
    session: Session, scope: AccountScope, offer: Offer, target: SuiteTarget, instead: Target | None
) -> Mapping[str, Any]:
    asked = {"asked": target.wire()}
    if isinstance(target, GatewayTarget):
        found = instead or _speaking(await _gateway(session, scope, offer, target.gateway), target.model)
        return asked | {"gateway": found.model_dump(mode="json")}
    if isinstance(target, AppTarget):
        app = await _app(session, scope, target.app)
        return asked | {"app": {"id": str(app.id), "slug": app.slug, "name": app.name}}
    raise InvalidRequest.field("script.target", SENT_IN)


def _speaking(found: Target, model: str | None) -> Target:
    """A gateway asked for another model than its own."""
    return found if model is None else found.model_copy(update={"facts": {**found.facts, "model": model}})


async def _gateway(session: Session, scope: AccountScope, offer: Offer, reference: str) -> Target:
    found = await find_target(session, scope, offer.integrated, reference)
    if found is None:
        raise InvalidRequest.field("script.target.gateway", UNKNOWN_TARGET)
    if found.gateway is not None:
        return gateway_target(found.gateway)
    return integrated_target(reference, found.llm)


async def _app(session: Session, scope: AccountScope, reference: str) -> RemoteApp:
    found = await find_app(session, scope, reference)
    if found is None:
        raise InvalidRequest.field("script.target.app", UNKNOWN_APP)
    return found


async def _judge(
    session: Session, scope: AccountScope, offer: Offer, stored: StoredScript, judging: Judging
) -> Mapping[str, Any] | None:
    if not stored.has_criteria:
        return None
    if judging == "app":
        return {"identity": await _apps_judge(session, scope, stored.target)}
    llm = offer.profile_to_play(stored.profile).judge.model
    return {"identity": identity_of(stored.profile, llm).wire(), "profile": stored.profile}


async def _apps_judge(session: Session, scope: AccountScope, target: SuiteTarget) -> Mapping[str, Any]:
    """The judge that the app was last found to have; the app refuses attempts pinned to any other."""
    if not isinstance(target, AppTarget):
        raise InvalidRequest.field("judge", "must be service: this target has no judge of its own")
    app = await _app(session, scope, target.app)
    if app.offer is None:
        raise InvalidRequest.field("judge", "is not known before the app was checked")
    identity: Mapping[str, Any] | None = app.offer.get("judge")
    if identity is None or identity["location"] != "app":
        raise InvalidRequest.field("judge", "must be service: the app has no judge of its own")
    return identity


def cases_named(stored: StoredScript, case_ids: Sequence[str]) -> dict[str, Case]:
    """The cases with these ids."""
    wanted = set(case_ids)
    return {case.id: case for case in stored.suite.cases if case.id in wanted}
