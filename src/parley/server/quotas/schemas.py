"""Wire shapes of limits."""

from __future__ import annotations

from pydantic import Field

from parley.server.kit.schemas import Answer, Instant, Usd


class StartLimit(Answer):
    """New runs and direct evaluations, in any 60 seconds."""

    limit: int | None = Field(description="Null: no limit.", examples=[5])
    used: int = Field(examples=[2])
    remaining: int | None = Field(description="Null: no limit.", examples=[3])
    window_s: int = Field(examples=[60])
    reset_at: Instant | None = Field(
        description="When one more start is free than now; null while nothing is spent, and without a limit."
    )


class SlotLimit(Answer):
    """What runs at once."""

    limit: int = Field(examples=[4])
    in_use: int = Field(examples=[1])


class RunSlotLimit(SlotLimit):
    """Runs at once: those that hold a slot, and those that wait for one."""

    waiting: int = Field(examples=[0])


class DayLimit(Answer):
    """A use over the last 24 hours, looked at when something starts."""

    limit: int | None = Field(description="Null: no limit.", examples=[200])
    used: int = Field(examples=[12])
    remaining: int | None = Field(description="Null: no limit.", examples=[188])


class IntegratedLimits(Answer):
    """What conversations with integrated llms may use."""

    requests_per_day: DayLimit
    tokens_per_day: DayLimit


class LimitsAnswer(Answer):
    """The plan of an account, and where the account stands."""

    plan: str = Field(examples=["free"])
    metered: bool = Field(description="Whether usage is charged.")
    multiplier: Usd = Field(description="Times the cost of user, judge and integrated llms.", examples=[1.25])
    runs_per_minute: StartLimit
    concurrent_runs: RunSlotLimit
    concurrent_direct: SlotLimit
    resources_per_test: int = Field(examples=[16])
    integrated: IntegratedLimits
