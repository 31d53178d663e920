"""How one attempt to deliver ended."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt. `error` is fit for the account's eyes and never repeats what the other side said."""

    delivered: bool
    status: int | None = None
    error: str | None = None
    is_final: bool = False
    """A failure that another try would not mend."""
    wait_s: float | None = None
    """What the other side wants us to wait."""


def refused(error: str, status: int | None = None) -> Attempt:
    """A failure for good."""
    return Attempt(delivered=False, status=status, error=error, is_final=True)
