"""May this conversation go on? Told by whoever holds it, asked by the engine."""

from __future__ import annotations

from collections.abc import Callable

from parley.engine.ports import Stop
from parley.server.journal.keep import Standing

BALANCE_EXHAUSTED = Stop(
    code="balance_exhausted", message="The account's balance was used up before this turn."
)
ACCOUNT_SUSPENDED = Stop(code="account_suspended", message="The account was suspended.")
CANCELLED = Stop(code="cancelled", message="The run was cancelled.")
TIME_LIMIT = Stop(code="time_limit", message="The conversation took longer than one run may take.")
ENTRY_LIMIT = Stop(code="entry_limit", message="The conversation has as many entries as one run may keep.")
HANDED_OVER = Stop(code="handed_over", message="The worker is stopping; another one goes on.")
SHUTDOWN = Stop(code="shutdown", message="The service is restarting; start this evaluation again.")


class ConversationGuard:
    """Stops a conversation when it is told to, and at a turn's start when the account may not go on.

    `standing` is how the account stood at the last entry; the holder keeps it up to date.
    """

    def __init__(self, standing: Standing) -> None:
        self.standing = standing
        self._stop: Stop | None = None
        self._interrupt: Callable[[], None] = _nothing

    def stop(self, stop: Stop) -> None:
        """End the conversation for this reason. The first reason stands."""
        if self._stop is None:
            self._stop = stop
            self._interrupt()

    def stopped(self) -> Stop | None:
        """The reason to end now, if there is one."""
        return self._stop

    def on_stop(self, interrupt: Callable[[], None]) -> None:
        """What to call when `stop` is."""
        self._interrupt = interrupt

    async def may_start_turn(self, turn: int) -> Stop | None:
        """Account active, balance positive where the plan is metered."""
        if not self.standing.account_active:
            return ACCOUNT_SUSPENDED
        if self.standing.metered and self.standing.balance <= 0:
            return BALANCE_EXHAUSTED
        return self._stop


def _nothing() -> None:
    """Nobody waits."""
