"""How often the statistics of a growing evaluation are made anew."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from parley.server.evaluations import live
from parley.server.kit.ids import new_id


class Made:
    """Stands in for the statistics, and for the clock that they take time of."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, results: int, took_s: float) -> None:
        self.now_s, self.times, self._results, self._took_s = 0.0, 0, results, took_s
        self.live = live.LiveStatistics(lambda: self.now_s)
        self._row = cast("Any", SimpleNamespace(id=new_id()))
        monkeypatch.setattr(live, "live_statistics", self._make)

    async def _make(self, *_: object) -> Any:
        self.times += 1
        self.now_s += self._took_s
        return SimpleNamespace(result_count=self._results, pending_count=0, number=self.times)

    async def ask(self) -> int:
        """Which of the statistics that were made is told now."""
        told = cast("Any", await self.live.of(cast("Any", None), cast("Any", None), self._row))
        number: int = told.number
        return number


async def test_few_results_are_always_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Made(monkeypatch, live.ALWAYS_FRESH, took_s=0.01)
    assert [await made.ask() for _ in range(3)] == [1, 2, 3]


async def test_many_are_made_anew_once_they_are_old_for_what_they_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = Made(monkeypatch, live.ALWAYS_FRESH + 1, took_s=0.3)
    assert [await made.ask() for _ in range(3)] == [1, 1, 1]
    made.now_s += 2.9
    assert await made.ask() == 1
    made.now_s += 0.2
    assert await made.ask() == 2


async def test_quick_ones_are_told_for_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Made(monkeypatch, 10_000, took_s=0.01)
    await made.ask()
    made.now_s += live.LEAST_AGE_S - 0.01
    assert await made.ask() == 1
    made.now_s += 0.02
    assert await made.ask() == 2
