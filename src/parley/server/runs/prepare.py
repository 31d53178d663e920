"""From a claimed run to a conversation that can be held."""

from __future__ import annotations

from parley.engine.events import Ended, Failure, Scope
from parley.engine.ports import Clock, Hooks
from parley.server.conversation.guard import ConversationGuard
from parley.server.conversation.parties import PartyMaker, TargetGone, tariff_of
from parley.server.definitions.snapshot import Snapshot, spec_of
from parley.server.runs.claim import Claimed
from parley.server.runs.hold import Prepared


class SnapshotPreparation:
    """Reads the snapshot of a run and makes its parties."""

    def __init__(self, maker: PartyMaker, hooks: Hooks, clock: Clock) -> None:
        self._maker = maker
        self._hooks = hooks
        self._clock = clock

    async def prepare(self, claimed: Claimed, guard: ConversationGuard) -> Prepared | Ended:
        """The conversation, or the end of a run whose target or resources are not to be had."""
        snapshot = Snapshot.model_validate(claimed.definition)
        if snapshot.resource_texts is None:
            return self._failed("resource_unavailable", "A remote resource could not be fetched.")
        spec = spec_of(snapshot, claimed.seed)
        try:
            parties = await self._maker.make(snapshot, spec, claimed.lease.account_id, guard, self._hooks)
        except TargetGone:
            return self._failed(
                "gateway_inference", "The gateway of this run does not exist any longer.", "gateway_inference"
            )
        tariff = tariff_of(snapshot, claimed.multiplier, metered=claimed.standing.metered)
        return Prepared(spec=spec, parties=parties, tariff=tariff)

    def _failed(self, code: str, message: str, scope: Scope = "user_inference") -> Ended:
        failure = Failure(code=code, message=message, scope=scope, turn=0)
        return Ended(at_ms=self._clock.now_ms(), failure=failure)
