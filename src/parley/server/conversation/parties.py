"""Who takes part in a conversation: made from a snapshot, with the secrets that it does not hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

from parley.engine.events import Speaking
from parley.engine.ports import Clock, Deadlines, Guard, Hooks, Parties, Speaker
from parley.engine.spec import Spec
from parley.engine.tools import MockTools
from parley.server.conversation.charging import Tariff
from parley.server.definitions.snapshot import Snapshot
from parley.server.gateways.target import endpoint_from
from parley.server.gateways.vault import GatewayVault
from parley.server.llm.endpoint import Forwarded, ForwardMetadata, LlmEndpoint
from parley.server.llm.integrated import IntegratedLlms
from parley.server.llm.pool import LlmPool
from parley.server.llm.prices import Prices
from parley.server.llm.profiles import Profile, ProfileName
from parley.server.telemetry.watch import UNWATCHED, Watch


class TargetGone(Exception):
    """The system under test does not exist any longer."""


class PartyMaker:
    """Makes the parties of conversations out of what this process shares."""

    def __init__(
        self,
        pool: LlmPool,
        profiles: Mapping[ProfileName, Profile],
        integrated: IntegratedLlms,
        vault: GatewayVault,
        clock: Clock,
        deadlines: Deadlines,
        watch: Watch = UNWATCHED,
    ) -> None:
        self._pool = pool
        self._profiles = profiles
        self._integrated = integrated
        self._vault = vault
        self._clock = clock
        self._deadlines = deadlines
        self._watch = watch

    async def make(
        self, snapshot: Snapshot, spec: Spec, account_id: UUID, guard: Guard, hooks: Hooks
    ) -> Parties:
        """The parties of one conversation. Raises `TargetGone`."""
        profile = self._profiles[snapshot.profile.name]
        gateway, gateway_deadlines = await self._target(snapshot, account_id)
        parties = Parties(
            user=self._seated(profile.user.endpoint, snapshot.profile.user.model),
            gateway=gateway,
            judge=self._seated(profile.judge.endpoint, snapshot.profile.judge.model),
            guard=guard,
            hooks=hooks,
            tools=MockTools(spec.tool_mocks),
            clock=self._clock,
            deadlines=self._deadlines,
            gateway_deadlines=gateway_deadlines,
        )
        return self._watch.parties(parties, prices_of(snapshot))

    def _seated(self, endpoint: LlmEndpoint, model: str) -> Speaker:
        return self._pool.operator_speaker(replace(endpoint, model=model))

    async def _target(self, snapshot: Snapshot, account_id: UUID) -> tuple[Speaker, Deadlines]:
        target, fields = snapshot.gateway, snapshot.fields
        forwarded = Forwarded(
            external_user_id=fields.get("external_user_id"),
            metadata=fields.get("metadata") or {},
            forward_metadata=cast("ForwardMetadata", target.facts.get("forward_metadata", "body")),
        )
        if target.kind == "integrated":
            llm = self._integrated.find(target.slug)
            if llm is None:
                raise TargetGone
            return self._pool.operator_speaker(llm.endpoint, forwarded), self._deadlines
        secrets = await self._vault.secrets_of(account_id, UUID(target.id))
        if secrets is None:
            raise TargetGone
        endpoint = endpoint_from(target.facts, secrets)
        return self._pool.customer_speaker(endpoint, forwarded), deadlines_of(target.facts, self._deadlines)


def prices_of(snapshot: Snapshot) -> dict[Speaking, Prices]:
    """The prices of the snapshot, by who speaks."""
    return {
        "user": snapshot.profile.user.prices.prices(),
        "assistant": snapshot.gateway.prices.prices(),
        "judge": snapshot.profile.judge.prices.prices(),
    }


def tariff_of(snapshot: Snapshot, multiplier: Decimal, *, metered: bool) -> Tariff:
    """What the conversation is charged: the snapshot's prices; the multiplier spares own gateways."""
    is_own = snapshot.gateway.kind == "gateway"
    return Tariff(
        prices=prices_of(snapshot),
        multipliers={
            "user": multiplier,
            "assistant": Decimal(1) if is_own else multiplier,
            "judge": multiplier,
        },
        metered=metered,
        # Limits of integrated llms are counted by this name, and where one lives is the operator's affair.
        names={} if is_own else {"assistant": snapshot.gateway.slug},
    )


def deadlines_of(facts: Mapping[str, Any], default: Deadlines) -> Deadlines:
    """The deadlines of a gateway's own, `default` where it says nothing."""
    return Deadlines(
        first_piece_s=facts.get("first_token_timeout_s") or default.first_piece_s,
        idle_s=facts.get("idle_timeout_s") or default.idle_s,
        whole_s=facts.get("inference_timeout_s") or default.whole_s,
    )
