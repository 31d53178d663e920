"""Adding up what was used: a sum with an unknown part is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from parley.engine.script.observation import Usage


def total(parts: Sequence[Usage | None]) -> Usage | None:
    """What `parts` used together; None when any of them, or everything, is unknown."""
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    costs = [part.cost_usd for part in known]
    models = {part.model for part in known}
    return Usage(
        model=known[0].model if len(models) == 1 else None,
        prompt_tokens=_sum([part.prompt_tokens for part in known]),
        cached_prompt_tokens=_sum([part.cached_prompt_tokens for part in known]),
        completion_tokens=_sum([part.completion_tokens for part in known]),
        cost_usd=None if None in costs else f"{sum((Decimal(cost) for cost in costs if cost), Decimal(0)):f}",
    )


def _sum(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None
