"""Wire shapes of balance and usage."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, PlainSerializer

from parley.server.kit.schemas import Answer, Instant, Usd

Day = Annotated[date, PlainSerializer(date.isoformat, return_type=str), Field(examples=["2027-01-31"])]


class BalanceAnswer(Answer):
    """What an account has left."""

    balance: Usd = Field(description="US dollars; below zero by at most one turn of each open run.")
    currency: Literal["USD"] = "USD"
    metered: bool = Field(description="Whether the plan charges usage at all.")


class UsageTotal(Answer):
    """What was used, added up."""

    inferences: int = Field(description="Attempts that were charged.", examples=[12])
    estimated: int = Field(description="Those whose tokens nobody reported, so that they are estimates.")
    prompt_tokens: int
    cached_prompt_tokens: int = Field(description="A part of the prompt tokens.")
    completion_tokens: int
    cost: Usd


class UsageLine(UsageTotal):
    """The usage of one day, role, llm and test; what the report is not by is null."""

    day: Day | None = Field(description="UTC.")
    role: str | None = Field(description="user, assistant or judge.", examples=["judge"])
    model: str | None = Field(
        description="As its provider names it; an integrated llm by its slug.",
    )
    test_id: UUID | None = Field(description="Null for direct evaluations.")
    test_name: str | None = Field(description="As it is now; null once the test is gone.")


class UsageReport(Answer):
    """The usage of an account, oldest day first."""

    time_start: Instant
    time_end: Instant = Field(description="The first moment that is not in the report.")
    lines: list[UsageLine]
    total: UsageTotal
