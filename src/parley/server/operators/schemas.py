"""Wire shapes of the operators' API."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field, StringConstraints

from parley.server.accounts.schemas import AccountAnswer, Email
from parley.server.accounts.scopes import KeyKind, KeyScope
from parley.server.kit.schemas import Answer, Body, DecimalIn, IdIn, Instant, NameIn, Usd, Visible

MOST_USD = Decimal(1_000_000)
"""Most that is moved at once, against slips of the finger (our choice)."""
Note = Annotated[str, StringConstraints(min_length=1, max_length=500), Visible]
PlanCode = Annotated[str, StringConstraints(min_length=1, max_length=50)]


class AccountCreate(Body):
    """An account to be made."""

    name: NameIn = Field(description="What people call it.", examples=["Example Ltd"])
    plan: PlanCode = Field(default="free", description="A plan's code.", examples=["pro"])
    credit: DecimalIn = Field(
        default=Decimal(0),
        ge=0,
        le=MOST_USD,
        description="First credit, US dollars, up to a million.",
        examples=[50],
    )
    owner_email: Email | None = Field(default=None, description="The owner's e-mail; alerts go there.")


class AccountChange(Body):
    """What changes about an account."""

    plan: PlanCode = Field(description="A plan's code.")


class AccountOverrides(Body):
    """Limits of one account in place of its plan's; what is null or left out is as the plan says."""

    runs_per_minute: int | None = Field(
        default=None, ge=1, le=1_000_000, description="New runs in any 60 seconds.", examples=[120]
    )
    concurrent_runs: int | None = Field(
        default=None,
        ge=1,
        le=10_000,
        description="Runs at once, and as many direct evaluations.",
        examples=[20],
    )


class AccountOverridesAnswer(Answer):
    """Limits of one account in place of its plan's."""

    runs_per_minute: int | None = Field(description="Null: as the plan says.")
    concurrent_runs: int | None = Field(description="Null: as the plan says.")


class OperatedAccount(AccountAnswer):
    """An account as operators see it."""

    balance: Usd


class OpenedAccountAnswer(OperatedAccount):
    """An account just made, with its first keys: they are shown this once."""

    private_key: str
    public_key: str


class Credit(Body):
    """Money to be given to an account."""

    amount: DecimalIn = Field(
        gt=0, le=MOST_USD, description="US dollars, above 0, up to a million.", examples=[25]
    )
    note: Note = Field(default="credit", description="What for.", examples=["invoice 1041"])
    reference: IdIn | None = Field(
        default=None, description="An id of yours: with it the money is moved once, however often you ask."
    )


class Adjustment(Body):
    """A correction of an account's balance."""

    amount: DecimalIn = Field(
        ge=-MOST_USD,
        le=MOST_USD,
        description="US dollars, up to a million; negative takes away.",
        examples=[-1.5],
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

    name: NameIn = Field(default="made by an operator", description="What the key is for.")
    kind: KeyKind = Field(default="private", description="A public key may only ask who it is.")
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

    runs_per_minute: int | None = Field(
        default=None, ge=1, le=1_000_000, description="New runs in any 60 seconds; null: no limit."
    )
    concurrent_runs: int = Field(
        default=1, ge=1, le=10_000, description="Runs at once, and as many direct evaluations."
    )
    multiplier: DecimalIn = Field(
        default=Decimal(1),
        ge=0,
        le=1_000,
        decimal_places=4,
        description="Times the cost of user, judge and integrated llms; 0 to 1,000, 4 decimal places.",
    )
    metered: bool = Field(default=True, description="Whether usage is charged, and a start wants a balance.")
    resources_per_test: int = Field(
        default=16, ge=0, le=16, description="Most resources of a test that is started."
    )
    integrated_requests_per_day: int | None = Field(
        default=None,
        ge=0,
        le=2_000_000_000,
        description="Inferences of integrated llms in any 24 hours; null: no limit.",
    )
    integrated_tokens_per_day: int | None = Field(
        default=None,
        ge=0,
        le=10**15,
        description="Their tokens, of prompts and completions; null: no limit.",
    )

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
