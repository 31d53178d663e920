"""What judging costs an account: prices, plan, and whether it may go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, TypeAlias

from parley.engine.chat.pieces import Usage
from parley.server.llm.prices import FREE, Prices, cost_of

Refusal: TypeAlias = Literal["balance_exhausted", "account_suspended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Funds:
    """How an account stood when a result was about to be judged."""

    balance: Decimal
    is_active: bool
    metered: bool
    multiplier: Decimal

    @property
    def refusal(self) -> Refusal | None:
        """Why no judge may be asked; None if one may."""
        if not self.is_active:
            return "account_suspended"
        return "balance_exhausted" if self.metered and self.balance <= 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """One attempt of a judge: what it used and what it costs, US dollars."""

    usage: Usage
    amount: Decimal


def charged(used: Sequence[Usage], prices: Prices, funds: Funds, name: str | None) -> tuple[Spent, ...]:
    """The charges of attempts. An unmetered plan pays nothing.

    `name` stands for the llm where the account knows it by another than its provider's.
    """
    paid = prices if funds.metered else FREE
    return tuple(
        Spent(usage=_named(usage, name), amount=cost_of(usage, paid, funds.multiplier)) for usage in used
    )


def total(spent: Sequence[Spent]) -> Decimal:
    """What these attempts cost together."""
    return sum((each.amount for each in spent), Decimal(0))


def _named(usage: Usage, name: str | None) -> Usage:
    return usage if name is None else replace(usage, model=name)
