"""From a claimed run to a conversation that can be held."""

from __future__ import annotations

from parley.engine.events import Ended, Failure, Scope
from parley.engine.patience import Patience, WaitEnded
from parley.engine.ports import Clock
from parley.server.conversation.guard import ConversationGuard
from parley.server.conversation.hooks import HookMaker
from parley.server.conversation.parties import PartyMaker, TargetGone, tariff_of
from parley.server.conversation.texts import with_texts
from parley.server.db.database import Database
from parley.server.definitions.snapshot import Snapshot, spec_of
from parley.server.hooks.vault import RunGone
from parley.server.journal.keep import Lease, LeaseLost, patiently
from parley.server.kit import strictjson
from parley.server.resources.reader import ResourceReader, ResourceUnavailable
from parley.server.runs.claim import Claimed
from parley.server.runs.hold import Prepared

_KEEP_TEXTS = """
UPDATE runs SET definition = jsonb_set(definition, '{resource_texts}', $4::jsonb), updated_at = now()
 WHERE account_id = $1 AND id = $2 AND lease_token = $3 AND state = 'running'
RETURNING id
"""


class SnapshotPreparation:
    """Reads the snapshot of a run, fetches what it lacks, and makes its parties."""

    def __init__(
        self,
        maker: PartyMaker,
        resources: ResourceReader,
        hooks: HookMaker,
        database: Database,
        clock: Clock,
    ) -> None:
        self._maker = maker
        self._resources = resources
        self._hooks = hooks
        self._database = database
        self._clock = clock

    async def prepare(self, claimed: Claimed, guard: ConversationGuard) -> Prepared | Ended:
        """The conversation, or the end of a run whose target or resources are not to be had.

        Raises `LeaseLost`.
        """
        lease, snapshot = claimed.lease, Snapshot.model_validate(claimed.definition)
        try:
            if snapshot.resource_texts is None:
                snapshot = await self._with_kept_texts(snapshot, lease, guard)
            spec = spec_of(snapshot, claimed.seed)
            # Each step waits by itself for a database that is away, so that none before it is done again.
            hooks = await patiently(
                lambda: self._hooks.make(lease.account_id, claimed.test_id, lease.run_id, snapshot)
            )
            parties = await patiently(
                lambda: self._maker.make(snapshot, spec, lease.account_id, guard, hooks)
            )
        except ResourceUnavailable as fault:
            return self._failed("resource_unavailable", f"resources.{fault.place}: {fault.problem}")
        except RunGone:
            raise LeaseLost from None
        except TargetGone:
            return self._failed(
                "gateway_inference", "The gateway of this run does not exist any longer.", "gateway_inference"
            )
        tariff = tariff_of(snapshot, claimed.multiplier, metered=claimed.standing.metered)
        return Prepared(spec=spec, parties=parties, tariff=tariff)

    async def _with_kept_texts(self, snapshot: Snapshot, lease: Lease, guard: ConversationGuard) -> Snapshot:
        """Fetch the resources, and keep them with the run before anything is said.

        A stop ends the fetching. Nobody reads the texts of a conversation that is stopped, so then they
        are empty, and not kept: whoever goes on with the run fetches them.
        """
        try:
            with Patience(guard, None) as patience:
                read = await patience.wait(lambda: with_texts(snapshot, self._resources))
        except WaitEnded:
            return snapshot.with_resource_texts([""] * len(snapshot.fields["resources"]))
        await patiently(lambda: self._keep_texts(lease, strictjson.write(read.resource_texts)))
        return read

    async def _keep_texts(self, lease: Lease, texts: str) -> None:
        async with self._database.raw() as connection:
            row = await connection.fetchrow(_KEEP_TEXTS, lease.account_id, lease.run_id, lease.token, texts)
        if row is None:
            raise LeaseLost

    def _failed(self, code: str, message: str, scope: Scope = "user_inference") -> Ended:
        failure = Failure(code=code, message=message, scope=scope, turn=0)
        return Ended(at_ms=self._clock.now_ms(), failure=failure)
