"""What an entry costs: every inference attempt is charged once, with its entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

from parley.engine.chat.pieces import Usage
from parley.engine.events import AssistantSpoke, Entry, Opinion, Speaking, Spent, UserSpoke
from parley.server.journal.keep import Charge
from parley.server.llm.prices import FREE, Prices, cost_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Tariff:
    """Prices by speaker, and the plan's multiplier where it applies. An unmetered plan charges 0.

    `names` are what the account knows speakers by, where that is not what their provider calls them.
    """

    prices: Mapping[Speaking, Prices]
    multipliers: Mapping[Speaking, Decimal]
    metered: bool = True
    names: Mapping[Speaking, str] = field(default_factory=dict)

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
        named = replace(usage, model=self.names[role]) if role in self.names else usage
        return Charge(amount=amount, role=role, usage=named)
