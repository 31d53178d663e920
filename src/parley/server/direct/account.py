"""What a direct evaluation costs: kept content-free, settled once a turn and at the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from uuid import UUID

from parley.engine.ports import Stop
from parley.server.conversation.guard import ConversationGuard
from parley.server.direct.settlements import Settlements
from parley.server.journal.keep import Charge, Standing

SLOT_LOST = Stop(code="shutdown", message="The service lost hold of this evaluation; start it again.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnd:
    """How a direct evaluation ended: an outcome, or the code of an error."""

    outcome: str | None = None
    error_code: str | None = None


@dataclass(slots=True)
class DirectAccount:
    """The running account of one direct evaluation."""

    settlements: Settlements
    account_id: UUID
    call_id: UUID
    seq: int = 0
    is_lost: bool = False
    """Whether the call was closed by a sweep: its lease had ended. What it used is charged all the same."""
    _open: list[tuple[int, Charge]] = field(default_factory=list)

    def spend(self, charge: Charge | None) -> None:
        """Note what the next entry cost."""
        self.seq += 1
        if charge is not None:
            self._open.append((self.seq, charge))

    async def settle(self, end: CallEnd | None = None) -> Standing | None:
        """Write what is noted, all or nothing; with `end` also that the call is over.

        Waits while the database is away. None if there is nothing to write, or it was written before.
        """
        if not self._open and end is None:
            return None
        if end is not None:
            self.seq += 1
        values = self._values(end)
        row = await self.settlements.add(values)
        self._open.clear()
        if row is None:
            return None
        self.is_lost = end is None and not row["open"]
        return Standing(
            balance=row["balance"],
            account_active=row["active"],
            metered=row["metered"],
            cancel_requested=False,
        )

    def _values(self, end: CallEnd | None) -> tuple[object, ...]:
        charges = [charge for _, charge in self._open]
        return (
            self.account_id,
            self.call_id,
            self.seq,
            sum((charge.amount for charge in charges), Decimal(0)),
            "ended" if end else None,
            end.outcome if end else None,
            end.error_code if end else None,
            [seq for seq, _ in self._open],
            [charge.amount for charge in charges],
            [charge.role for charge in charges],
            [charge.usage.model for charge in charges],
            [charge.usage.prompt_tokens for charge in charges],
            [charge.usage.cached_prompt_tokens for charge in charges],
            [charge.usage.completion_tokens for charge in charges],
            [charge.usage.estimated for charge in charges],
        )


class DirectGuard(ConversationGuard):
    """The guard of a direct evaluation: settles the turn before, then looks at the balance."""

    def __init__(self, standing: Standing, account: DirectAccount) -> None:
        super().__init__(standing)
        self._account = account

    async def may_start_turn(self, turn: int) -> Stop | None:
        """Settle, then the same questions as for any conversation, and whether its slot is still ours."""
        self.standing = await self._account.settle() or self.standing
        if self._account.is_lost:
            return SLOT_LOST
        return await super().may_start_turn(turn)
