"""When a delivery that failed is tried again. Pure."""

from __future__ import annotations

from typing import Final

FIRST_WAIT_S: Final = 30.0
LONGEST_WAIT_S: Final = 1_920.0
MOST_ATTEMPTS: Final = 8
"""Tries of one delivery, within about an hour (our choice): most outages are over by then."""


def wait_s(attempts: int, asked_s: float | None = None) -> float | None:
    """Seconds until the next try after `attempts` of them failed; None if there is none.

    Doubles from 30 s. `asked_s` is what the other side wants us to wait; it counts up to half an hour.
    """
    if attempts >= MOST_ATTEMPTS:
        return None
    own: float = FIRST_WAIT_S * 2 ** (attempts - 1)
    return min(max(own, asked_s or 0.0), LONGEST_WAIT_S)
