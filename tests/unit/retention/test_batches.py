"""Batches: to the end, never more than asked for, smaller where the database cannot."""

from __future__ import annotations

import asyncpg
import pytest

from parley.server.errors import DatabaseAway
from parley.server.retention.batches import Batches


class Heap:
    """Rows to remove, of which one statement manages `can_do`."""

    def __init__(self, rows: int, can_do: int) -> None:
        self.rows = rows
        self.can_do = can_do
        self.asked: list[int] = []

    async def remove(self, limit: int) -> int:
        self.asked.append(limit)
        found = min(limit, self.rows)
        if found > self.can_do:
            raise asyncpg.QueryCanceledError("canceling statement due to statement timeout")
        self.rows -= found
        return found


async def test_everything_goes_and_no_batch_is_larger_than_allowed() -> None:
    heap = Heap(rows=1_000, can_do=10_000)
    assert await Batches(300).drain(heap.remove) == 1_000
    assert (heap.rows, heap.asked) == (0, [300, 300, 300, 300])


async def test_a_batch_that_takes_too_long_is_tried_again_smaller() -> None:
    """C179: what cannot be removed at once is removed all the same."""
    heap = Heap(rows=1_000, can_do=7)
    batches = Batches(200)
    assert await batches.drain(heap.remove) == 1_000
    assert heap.rows == 0
    assert heap.asked[:4] == [200, 50, 12, 3]


async def test_a_timeout_that_is_told_as_a_database_away_is_tried_smaller_too() -> None:
    heap = Heap(rows=100, can_do=7)

    async def remove(limit: int) -> int:
        try:
            return await heap.remove(limit)
        except asyncpg.QueryCanceledError as fault:
            raise DatabaseAway from fault

    assert await Batches(50).drain(remove) == 100
    assert heap.asked[:3] == [50, 12, 3]


async def test_the_size_grows_back() -> None:
    batches = Batches(200)
    heap = Heap(rows=1_000, can_do=7)
    await batches.drain(heap.remove)
    heap.rows, heap.can_do = 2_000, 10_000
    await batches.drain(heap.remove)
    assert heap.asked[-1] == 200


async def test_a_single_row_that_takes_too_long_is_a_fault() -> None:
    heap = Heap(rows=5, can_do=0)
    with pytest.raises(asyncpg.QueryCanceledError):
        await Batches(8).drain(heap.remove)
    assert heap.asked == [8, 2, 1]


async def test_other_faults_are_not_tried_again() -> None:
    asked: list[int] = []

    async def remove(limit: int) -> int:
        asked.append(limit)
        raise asyncpg.ForeignKeyViolationError("no")

    with pytest.raises(asyncpg.ForeignKeyViolationError):
        await Batches(8).drain(remove)
    assert asked == [8]
