"""The hooks of a conversation that has none."""

from __future__ import annotations

from typing import Any

from parley.engine.ports import HookAnswer
from parley.engine.spec import Hook


class NoHooks:
    """Direct evaluations take no hooks, so none is ever called."""

    async def call(self, hook: Hook, index: int, turn: int, data: dict[str, Any]) -> HookAnswer:
        """Refuses: a hook that is not called must never look like one that agreed."""
        return HookAnswer(continued=False, error=f"The hook {hook.event} cannot be called here.")
