"""The hooks of a conversation: those of a run, or none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from parley.engine.ports import HookAnswer, Hooks
from parley.engine.spec import Hook
from parley.server.definitions.snapshot import Snapshot
from parley.server.hooks.caller import HookCaller
from parley.server.hooks.envelope import HookSource
from parley.server.hooks.keys import Credentials
from parley.server.hooks.vault import HookVault


class NoHooks:
    """Direct evaluations take no hooks, so none is ever called."""

    async def call(self, hook: Hook, index: int, turn: int, data: dict[str, Any]) -> HookAnswer:
        """Refuses: a hook that is not called must never look like one that agreed."""
        return HookAnswer(continued=False, error=f"The hook {hook.event} cannot be called here.")


class RunHooks:
    """The hooks of one run."""

    def __init__(
        self,
        caller: HookCaller,
        source: HookSource,
        credentials: Credentials | None,
        *,
        gateway: str,
        metadata: Mapping[str, str],
    ) -> None:
        self._caller = caller
        self._source = source
        self._credentials = credentials
        self._gateway = gateway
        self._metadata = metadata

    async def call(self, hook: Hook, index: int, turn: int, data: dict[str, Any]) -> HookAnswer:
        """Call one hook once. The engine knows neither gateway nor metadata; they are added here."""
        if hook.event == "before-test":
            data = {"gateway": self._gateway, **data, "metadata": dict(self._metadata)}
        return await self._caller.call(self._source, hook, index, turn, data, self._credentials)


class HookMaker:
    """Makes the hooks of runs out of what this process shares."""

    def __init__(self, caller: HookCaller, vault: HookVault) -> None:
        self._caller = caller
        self._vault = vault

    async def make(self, account_id: UUID, test_id: UUID, run_id: UUID, snapshot: Snapshot) -> Hooks:
        """The hooks of a run, with the credentials it began with. Raises `UnsealError`, `RunGone`."""
        if not snapshot.fields.get("hooks"):
            return NoHooks()
        return RunHooks(
            self._caller,
            HookSource(test_id=test_id, run_id=run_id, gateway_id=snapshot.gateway.id),
            await self._vault.credentials_of(account_id, run_id),
            gateway=snapshot.gateway.slug,
            metadata=snapshot.fields.get("metadata") or {},
        )
