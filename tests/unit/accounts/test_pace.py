"""Requests of one key."""

from __future__ import annotations

from uuid import UUID

import pytest

from parley.server.accounts.pace import Pace
from parley.server.errors import RequestsLimited

KEY = UUID(int=1)


class HeldClock:
    """A clock that moves when told to."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def now_ms(self) -> int:
        """Held."""
        return int(self.now_s * 1_000)

    def monotonic_s(self) -> float:
        """Held."""
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        """Jump."""
        self.now_s += seconds


def spent(pace: Pace, key_id: UUID = KEY) -> int:
    """How many requests pass now."""
    count = 0
    while count < 10_000:
        try:
            pace.spend(key_id)
        except RequestsLimited:
            break
        count += 1
    return count


def test_burst_passes_and_then_the_rate_holds() -> None:
    clock = HeldClock()
    pace = Pace(600, clock)
    assert spent(pace) == 60
    clock.now_s += 1
    assert spent(pace) == 10
    clock.now_s += 3_600
    assert spent(pace) == 60


def test_keys_do_not_share() -> None:
    pace = Pace(600, HeldClock())
    assert (spent(pace), spent(pace, UUID(int=2))) == (60, 60)


def test_refusal_says_when_to_come_back() -> None:
    clock = HeldClock()
    pace = Pace(6, clock)
    pace.spend(KEY)
    with pytest.raises(RequestsLimited) as caught:
        pace.spend(KEY)
    assert caught.value.retry_after_s is not None
    clock.now_s += caught.value.retry_after_s
    pace.spend(KEY)


def test_zero_is_no_limit() -> None:
    assert spent(Pace(0, HeldClock())) == 10_000
