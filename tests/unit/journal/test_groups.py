"""Writes that go together: who leaves with whom, who waits, and who is told what."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from parley.server.journal.groups import MOST_IN_GROUP, MOST_UNDER_WAY, SLOW_S, Groups

Answer = Callable[[str], str | Exception]


def upper(item: str) -> str | Exception:
    return item.upper()


class Disk:
    """Writes groups when it is let, and remembers them."""

    def __init__(self, answer: Answer = upper) -> None:
        self.groups: list[list[str]] = []
        self._answer = answer
        self._lets: list[asyncio.Event] = []

    async def write(self, items: Sequence[str]) -> list[str | Exception]:
        self.groups.append(list(items))
        let = asyncio.Event()
        self._lets.append(let)
        await let.wait()
        return [self._answer(item) for item in items]

    async def let(self, number: int) -> None:
        """Let group `number` be written, and what follows happen."""
        self._lets[number].set()
        await settle()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def adding(groups: Groups[str, str], *items: str) -> list[asyncio.Task[str]]:
    """Each item is its own owner's, unless it says another: `owner/item`."""
    tasks = [asyncio.create_task(groups.add(item.split("/")[0], item)) for item in items]
    await settle()
    return tasks


async def test_item_that_finds_nothing_under_way_leaves_at_once() -> None:
    disk = Disk()
    [alone] = await adding(Groups(disk.write), "a")
    assert disk.groups == [["a"]]
    await disk.let(0)
    assert await alone == "A"


async def test_what_comes_meanwhile_goes_together() -> None:
    disk = Disk()
    groups = Groups(disk.write)
    tasks = [*await adding(groups, "a"), *await adding(groups, "b", "c", "d")]
    assert disk.groups == [["a"]]
    await disk.let(0)
    assert disk.groups == [["a"], ["b", "c", "d"]]
    await disk.let(1)
    assert await asyncio.gather(*tasks) == ["A", "B", "C", "D"]


async def test_group_has_a_bound() -> None:
    disk = Disk()
    groups = Groups(disk.write)
    await adding(groups, "first", *map(str, range(MOST_IN_GROUP + 1)))
    await disk.let(0)
    assert len(disk.groups[1]) == MOST_IN_GROUP
    await disk.let(1)
    assert disk.groups[2] == [str(MOST_IN_GROUP)]
    await disk.let(2)


async def test_slow_group_holds_up_its_owners_and_nobody_else() -> None:
    disk = Disk()
    groups = Groups(disk.write)
    await adding(groups, "a", "a/later", "b")
    await asyncio.sleep(SLOW_S * 2)
    assert disk.groups == [["a"], ["b"]]
    await disk.let(1)
    assert disk.groups == [["a"], ["b"]], "the owner's next item waits for the first one"
    await disk.let(0)
    assert disk.groups == [["a"], ["b"], ["a/later"]]
    await disk.let(2)


async def test_slow_groups_have_a_bound() -> None:
    disk = Disk()
    groups = Groups(disk.write)
    for number in range(MOST_UNDER_WAY + 1):
        await adding(groups, str(number))
        await asyncio.sleep(SLOW_S * 2)
    assert len(disk.groups) == MOST_UNDER_WAY
    await disk.let(0)
    assert disk.groups[-1] == [str(MOST_UNDER_WAY)]
    for number in range(1, MOST_UNDER_WAY + 1):
        await disk.let(number)


async def test_fault_of_one_item_is_its_own() -> None:
    disk = Disk(lambda item: ValueError(item) if item == "b" else item)
    groups = Groups(disk.write)
    first, second, third = await adding(groups, "a", "b", "c")
    await disk.let(0)
    await disk.let(1)
    assert (await first, await third) == ("a", "c")
    with pytest.raises(ValueError, match="b"):
        await second


async def test_group_that_breaks_is_told_to_all_in_it_and_the_next_goes_on() -> None:
    calls = 0

    async def write(items: Sequence[str]) -> list[str | Exception]:
        nonlocal calls
        calls += 1
        await asyncio.sleep(0)
        if calls == 2:
            raise OSError
        return list(items)

    groups: Groups[str, str] = Groups(write)
    results = await asyncio.gather(*(groups.add(one, one) for one in "abc"), return_exceptions=True)
    assert results[0] == "a"
    assert [type(result) for result in results[1:]] == [OSError, OSError]
    assert await groups.add("d", "d") == "d"


async def test_who_no_longer_waits_does_not_matter_to_the_others() -> None:
    disk = Disk()
    groups = Groups(disk.write)
    await adding(groups, "a")
    left, stays = await adding(groups, "b", "c")
    left.cancel()
    await disk.let(0)
    await disk.let(1)
    assert await stays == "C"
    with pytest.raises(asyncio.CancelledError):
        await left


async def test_ended_process_ends_who_waits() -> None:
    disk = Disk()
    [waiting] = await adding(Groups(disk.write), "a")
    [group] = [task for task in asyncio.all_tasks() if task.get_name() == "write-group"]
    group.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_group_that_nobody_waits_for_is_not_written_later() -> None:
    """A process that lets its runs go while the database is away writes nothing of them once it is back."""
    written: list[str] = []
    is_back = asyncio.Event()

    async def write(items: Sequence[str]) -> list[str | Exception]:
        await is_back.wait()
        written.extend(items)
        return list(items)

    groups = Groups(write)
    gone = await adding(groups, "a", "b")
    for task in gone:
        task.cancel()
    await settle()
    is_back.set()
    [stays] = await adding(groups, "c")
    await settle()
    assert await stays == "c"
    assert written == ["c"]
