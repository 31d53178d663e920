"""What tokens cost."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from parley.engine.chat.pieces import Usage
from parley.server.kit.money import usd

TOKENS_PER_PRICE: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """US dollars per million tokens: of the prompt, of its cached part, and of the completion."""

    input: Decimal = Decimal(0)
    cached: Decimal = Decimal(0)
    output: Decimal = Decimal(0)

    def __post_init__(self) -> None:
        for price in (self.input, self.cached, self.output):
            if not price.is_finite() or price < 0:
                raise ValueError("A price must be a finite number of dollars, zero or more.")

    @classmethod
    def of(cls, input_usd: str, cached_usd: str, output_usd: str) -> Prices:
        """Prices from their decimal texts."""
        return cls(input=Decimal(input_usd), cached=Decimal(cached_usd), output=Decimal(output_usd))


FREE: Final = Prices()
"""The default of customers' gateways: the account pays its own provider."""


def cost_of(usage: Usage, prices: Prices, multiplier: Decimal = Decimal(1)) -> Decimal:
    """The cost of one attempt in US dollars, nine places, rounded half-even.

    Cached tokens are a part of the prompt tokens and are never counted twice; a provider that
    reports more cached than prompt tokens is taken to mean all of them.
    """
    cached = min(usage.cached_prompt_tokens, usage.prompt_tokens)
    micro_usd = (
        (usage.prompt_tokens - cached) * prices.input
        + cached * prices.cached
        + usage.completion_tokens * prices.output
    )
    return usd(micro_usd * multiplier / TOKENS_PER_PRICE)
