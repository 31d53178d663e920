"""After how long an attempt is made again. How often, `plan.attempts_left` says. Pure."""

from __future__ import annotations

from parley.engine.chat.faults import InferenceFault

BASE_S = 1.0
"""Longest wait after the first failed attempt: about one answer's first-token time, so that a passing
hiccup costs the conversation little, while a restarting server is not asked at once."""
CAP_S = 20.0
"""Longest wait of our own choice: past this a person watching takes the run for dead."""
RETRY_AFTER_CAP_S = 60.0
"""Longest wait at a provider's wish (product contract). A longer wish is cut to it, not refused: rate
windows are commonly a minute, and a try too early costs one refused request."""


def delay_s(attempt: int, fault: InferenceFault, draw: float) -> float:
    """Seconds to wait after attempt `attempt` (from 1) failed. `draw` is uniform in 0..1.

    The ceiling doubles with each attempt, up to `CAP_S`; the wait is drawn from its upper half, so that
    conversations that failed together do not come back together. A provider's own wish is a lower
    bound and gets up to `BASE_S` on top for the same reason, within `RETRY_AFTER_CAP_S` in all.
    """
    ceiling_s = min(CAP_S, BASE_S * 2.0 ** min(attempt - 1, 30))
    own_s = ceiling_s * (1.0 + draw) / 2.0
    if fault.retry_after_s is None:
        return own_s
    return min(RETRY_AFTER_CAP_S, max(own_s, fault.retry_after_s + draw * BASE_S))
