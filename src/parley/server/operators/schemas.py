"""Wire shapes of the operators' API."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field, StringConstraints

from parley.server.accounts.schemas import AccountAnswer, Email
from parley.server.accounts.scopes import KeyKind, KeyScope
from parley.server.kit.schemas import Answer, Body, DecimalIn, IdIn, Instant, Usd

MOST_USD = Decimal(1_000_000)
"""Most that is moved at once, against slips of the finger (our choice)."""
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"\S")]
Note = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"\S")]
PlanCode = Annotated[str, StringConstraints(min_length=1, max_length=50)]


class AccountCreate(Body):
    """An account to be made."""

    name: Name = Field(examples=["Example Ltd"])
    plan: PlanCode = Field(default="free", examples=["pro"])
    credit: DecimalIn = Field(
        default=Decimal(0), ge=0, le=MOST_USD, description="First credit, US dollars.", examples=[50]
    )
    owner_email: Email | None = None


class AccountChange(Body):
    """What changes about an account."""

    plan: PlanCode


class OperatedAccount(AccountAnswer):
    """An account as operators see it."""

    balance: Usd


class OpenedAccountAnswer(OperatedAccount):
    """An account just made, with its first keys: they are shown this once."""

    private_key: str
    public_key: str


class Credit(Body):
    """Money to be given to an account."""

    amount: DecimalIn = Field(gt=0, le=MOST_USD, description="US dollars.", examples=[25])
    note: Note = Field(default="credit", examples=["invoice 1041"])
    reference: IdIn | None = Field(
        default=None, description="An id of yours: with it the money is moved once, however often you ask."
    )


class Adjustment(Body):
    """A correction of an account's balance."""

    amount: DecimalIn = Field(
        ge=-MOST_USD, le=MOST_USD, description="US dollars; negative takes away.", examples=[-1.5]
    )
    note: Note = Field(description="Why.", examples=["refund of the run of 3 May"])
    reference: IdIn | None = Field(
        default=None, description="An id of yours: with it the money is moved once, however often you ask."
    )


class Moved(Answer):
    """The balance after money was moved."""

    balance: Usd


class OperatorKey(Body):
    """A key to be made."""

    name: Name = "made by an operator"
    kind: KeyKind = "private"
    scopes: list[KeyScope] | None = Field(default=None, max_length=50, description="Null: all.")


class PlanAnswer(Answer):
    """The terms of a plan; null is no limit."""

    code: str
    runs_per_minute: int | None
    concurrent_runs: int
    multiplier: Usd
    metered: bool
    resources_per_test: int
    integrated_requests_per_day: int | None
    integrated_tokens_per_day: int | None


class PlanChange(Body):
    """What changes about a plan; what is left out stays."""

    runs_per_minute: int | None = Field(default=None, ge=1, le=1_000_000)
    concurrent_runs: int = Field(default=1, ge=1, le=10_000)
    multiplier: DecimalIn = Field(default=Decimal(1), ge=0, le=1_000, decimal_places=4)
    metered: bool = True
    resources_per_test: int = Field(default=16, ge=0, le=16)
    integrated_requests_per_day: int | None = Field(default=None, ge=0, le=2_000_000_000)
    integrated_tokens_per_day: int | None = Field(default=None, ge=0, le=10**15)

    def changes(self) -> dict[str, int | Decimal | bool | None]:
        """The terms that were sent."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class StuckRunAnswer(Answer):
    """A run that holds a slot and does not come on."""

    id: UUID
    account_id: UUID
    test_id: UUID
    state: str
    quiet_s: float = Field(description="Since its last kept entry, or its admission, seconds.")
    last_seq: int
    has_worker: bool = Field(description="Whether a worker's lease on it holds.")


class ActAnswer(Answer):
    """What an operator did."""

    id: UUID
    act: str = Field(examples=["account.suspend"])
    via: str = Field(examples=["api"])
    account_id: UUID | None
    details: dict[str, Any]
    at: Instant


class BookDifference(Answer):
    """An account whose balance is not the sum of its ledger."""

    account_id: UUID
    balance: Usd
    ledger: Usd
