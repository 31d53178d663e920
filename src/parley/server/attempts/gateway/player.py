"""Plays attempts against gateways: from a claimed attempt to a record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

from parley.engine.grading.judge import NeverStopped
from parley.engine.ports import AttemptOptions, Clock, Deadlines, Speaker
from parley.engine.script.attempt import Surroundings, Tell, play
from parley.engine.script.draft import AttemptPlan
from parley.engine.script.faults import Phase
from parley.engine.script.record import AttemptRecord, ErrorRecord
from parley.server.attempts.end import refused
from parley.server.attempts.gateway.app import GatewayApp
from parley.server.attempts.gateway.judge import ChargedJudge
from parley.server.attempts.gateway.talk import Line, Talk
from parley.server.attempts.gateway.webhooks import Webhooks
from parley.server.attempts.playing import Playing
from parley.server.attempts.targets import GatewayTarget, frozen_facts
from parley.server.conversation.parties import deadlines_of
from parley.server.definitions.snapshot import Target
from parley.server.errors import LlmsNotConfigured
from parley.server.gateways.target import endpoint_from
from parley.server.gateways.vault import GatewayVault
from parley.server.llm.endpoint import LlmEndpoint
from parley.server.llm.integrated import IntegratedLlms
from parley.server.llm.pool import LlmPool
from parley.server.script_judge.judge import ScriptJudges
from parley.server.telemetry.watch import UNWATCHED, Watch


class _CannotBegin(Exception):
    def __init__(self, phase: Phase, code: str, message: str) -> None:
        super().__init__(message)
        self.error = ErrorRecord(phase=phase, code=code, message=message)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayPlayer:
    """The player of gateways, made of what this process shares."""

    pool: LlmPool
    integrated: IntegratedLlms
    vault: GatewayVault
    judges: ScriptJudges
    webhooks: Webhooks
    clock: Clock
    deadlines: Deadlines
    watch: Watch = UNWATCHED
    resumes: bool = False
    """A gateway holds no conversation for us: what another worker said cannot be gone on with."""

    async def play(self, attempt: Playing, plan: AttemptPlan, tell: Tell) -> AttemptRecord:
        """The whole record; an error where target or judge are not what the evaluation began with."""
        target = cast("GatewayTarget", frozen_facts(attempt.work.target))
        try:
            judge = self._judge(attempt, plan)
            line = await self._line(attempt, target)
        except _CannotBegin as cannot:
            return refused(plan, self.clock, cannot.error)
        talk = Talk(line=line, playing=attempt, clock=self.clock)
        around = Surroundings(
            app=GatewayApp(target, talk, self.webhooks, attempt.work.held.account_id),
            judge=judge,
            clock=self.clock,
            stopping=attempt.stopping,
            tool_visibility=target.tool_visibility,
        )
        return await play(plan, around, tell)

    def _judge(self, attempt: Playing, plan: AttemptPlan) -> ChargedJudge | None:
        if attempt.work.judge is None:
            return None
        try:
            seat = self.judges.seat(attempt.work.judge["profile"])
        except LlmsNotConfigured as gone:
            raise _CannotBegin("grading", "judge_unavailable", gone.text) from None
        if seat.identity != plan.judge:
            told = "The service has another judge by now than the evaluation began with."
            raise _CannotBegin("grading", "judge_changed", told)
        asked = self.watch.speaker(seat.speaker, "judge", seat.prices, NeverStopped())
        return ChargedJudge(self.judges, replace(seat, speaker=asked), attempt)

    async def _line(self, attempt: Playing, target: GatewayTarget) -> Line:
        found = Target.model_validate(attempt.work.target["gateway"])
        speaker, deadlines = await self._speaker(attempt.work.held.account_id, found, target)
        is_own = found.kind == "gateway"
        wanted = target.outputs[0] if target.outputs else None
        prices = found.prices.prices()
        return Line(
            speaker=self.watch.speaker(speaker, "assistant", prices, NeverStopped()),
            options=AttemptOptions(
                response_schema=wanted.json_schema if wanted else None,
                response_name=wanted.schema_id if wanted else "answer",
            ),
            deadlines=deadlines,
            prices=prices,
            # Where an integrated llm lives is the operator's affair; its limits are counted by this name.
            multiplier=Decimal(1) if is_own else attempt.work.multiplier,
            name=None if is_own else found.slug,
        )

    async def _speaker(
        self, account_id: UUID, found: Target, target: GatewayTarget
    ) -> tuple[Speaker, Deadlines]:
        if found.kind == "integrated":
            llm = self.integrated.find(found.slug)
            if llm is None:
                raise _CannotBegin("setup", "target_gone", "This integrated llm is not on offer any longer.")
            return self.pool.operator_speaker(_with(llm.endpoint, target)), self.deadlines
        secrets = await self.vault.secrets_of(account_id, UUID(found.id))
        if secrets is None:
            raise _CannotBegin("setup", "target_gone", "The gateway does not exist any longer.")
        endpoint = _with(endpoint_from(found.facts, secrets), target)
        return self.pool.customer_speaker(endpoint), deadlines_of(found.facts, self.deadlines)


def _with(endpoint: LlmEndpoint, target: GatewayTarget) -> LlmEndpoint:
    """The endpoint with the tools that the target declares."""
    return replace(endpoint, settings=replace(endpoint.settings, tools=tuple(_tools(endpoint, target))))


def _tools(endpoint: LlmEndpoint, target: GatewayTarget) -> list[dict[str, Any]]:
    """The gateway's own tools, each in the place of its declaration if that says less; then all others."""
    own = {tool.get("function", {}).get("name"): dict(tool) for tool in endpoint.settings.tools}
    for tool in target.tools:
        if tool.parameters is None and tool.name in own:
            continue
        function: dict[str, Any] = {"name": tool.name, "parameters": tool.parameters or _ANY_OBJECT}
        if tool.description is not None:
            function["description"] = tool.description
        own[tool.name] = {"type": "function", "function": function}
    return list(own.values())


_ANY_OBJECT: dict[str, Any] = {"type": "object"}
