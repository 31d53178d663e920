"""Wire shapes of the hook key."""

from __future__ import annotations

from pydantic import Field

from parley.server.kit.schemas import Answer, Instant


class HookKeyAnswer(Answer):
    """What is told of the hook key."""

    rolled_at: Instant | None = Field(
        description="When it was made; null: there is none, calls are not signed."
    )


class NewHookKey(Answer):
    """A hook key just made."""

    key: str = Field(
        description="The key itself, for receivers of hooks; it is shown this once.", examples=["whsec_..."]
    )
    rolled_at: Instant = Field(description="Runs that begin later use it.")
