"""What an entry costs: every inference attempt is charged once, with its entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from parley.engine.chat.pieces import Usage
from parley.engine.events import AssistantSpoke, Entry, Opinion, Speaking, Spent, UserSpoke
from parley.server.journal.keep import Charge
from parley.server.llm.prices import FREE, Prices, cost_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Tariff:
    """Prices by speaker, and the plan's multiplier where it applies. An unmetered plan charges 0."""

    prices: Mapping[Speaking, Prices]
    multipliers: Mapping[Speaking, Decimal]
    metered: bool = True

    def charge(self, entry: Entry) -> Charge | None:
        """The charge of `entry`; None for entries that are no inference, or that cost nothing to make."""
        match entry:
            case UserSpoke():
                return self._charge("user", entry.usage)
            case AssistantSpoke():
                return self._charge("assistant", entry.usage)
            case Opinion():
                return self._charge("judge", entry.usage)
            case Spent() if entry.usage is not None:
                return self._charge(entry.role, entry.usage)
            case _:
                return None

    def _charge(self, role: Speaking, usage: Usage) -> Charge:
        prices = self.prices[role] if self.metered else FREE
        amount = cost_of(usage, prices, self.multipliers.get(role, Decimal(1)))
        return Charge(amount=amount, role=role, usage=usage)
