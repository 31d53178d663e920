"""What the scripted cases of an evaluation are played by: written once, read as it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from parley.engine.script.draft import AttemptPlan
from parley.engine.script.record import UNKNOWN, JudgeIdentity, Provenance
from parley.engine.script.revision import effective_evidence, suite_revision
from parley.engine.script.shapes import Case, Evidence, Suite
from parley.server.attempts.repository import PlanRepository
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import ScriptPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A suite, its target as frozen (`{asked, ...}`, nothing secret), and who judges.

    `judge` is `{identity, ...}`: the identity on the wire, and how ours finds its llm again; None where
    there is nothing to judge.
    """

    suite: Suite
    target: Mapping[str, Any]
    judge: Mapping[str, Any] | None

    @property
    def revision(self) -> str:
        """Of the suite with its effective evidence."""
        return suite_revision(self.suite)


async def keep_plan(session: Session, scope: AccountScope, evaluation_id: UUID, script: Script) -> ScriptPlan:
    """Freeze what the scripted cases of an evaluation are played by."""
    row = ScriptPlan(
        account_id=scope.account_id,
        evaluation_id=evaluation_id,
        suite=script.suite.wire(),
        revision=script.revision,
        evidence=effective_evidence(script.suite).wire(),
        target=dict(script.target),
        judge=None if script.judge is None else dict(script.judge),
    )
    return await PlanRepository(session, scope).add(row)


async def target_of(session: Session, scope: AccountScope, evaluation_id: UUID) -> dict[str, Any]:
    """The frozen target of an evaluation. Raises RuntimeError where there is none."""
    found = await PlanRepository(session, scope).target(evaluation_id)
    if found is None:
        raise RuntimeError(f"evaluation {evaluation_id} has scripted cases and no plan for them")
    return found


def is_integrated_target(target: Mapping[str, Any]) -> bool:
    """Whether a frozen target is an integrated llm, which plans limit."""
    return bool(target.get("gateway", {}).get("kind") == "integrated")


def identity_in(judge: Mapping[str, Any] | None) -> JudgeIdentity | None:
    """The identity in a plan's `judge`."""
    return None if judge is None else JudgeIdentity.of_wire(judge["identity"])


def plan_of(
    *,
    suite: Mapping[str, Any],
    case: Case,
    revision: str,
    evidence: Mapping[str, Any],
    judge: Mapping[str, Any] | None,
    attempt_id: UUID,
    session_id: str,
    repetition: int,
    commit: str | None,
) -> AttemptPlan:
    """What is to be played, from what is stored. `suite` may come without its cases."""
    return AttemptPlan(
        suite=Suite.of_wire({**suite, "cases": [case.wire()]}),
        case=case,
        revision=revision,
        evidence=Evidence.of_wire(evidence),
        attempt_id=str(attempt_id),
        session_id=session_id,
        repetition=repetition,
        judge=identity_in(judge),
        provenance=Provenance(commit=commit or UNKNOWN),
    )
