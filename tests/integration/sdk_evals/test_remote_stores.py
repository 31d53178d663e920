"""Both stores keep one contract; the one in Postgres also over replicas and restarts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias
from uuid import uuid4

import pytest

from parley.engine.script.protocol import RouteError
from parley.sdk.evals import Capacity, Evals, HostTimes, MemoryStore, PostgresStore
from parley.sdk.evals.remote.store import Admission, Claim, LeaseLost, Store
from tests.unit.sdk_evals.remote.stage import KEY, plan_of, served
from tests.unit.sdk_evals.stage import step, suite

Open: TypeAlias = Callable[[], Awaitable[Store]]


@pytest.fixture
async def postgres(database_url: str) -> AsyncIterator[Open]:
    """Opens stores of one namespace, as replicas do."""
    namespace, opened = uuid4().hex, list[Store]()

    async def opens() -> Store:
        store = PostgresStore(database_url, namespace)
        await store.open()
        opened.append(store)
        return store

    yield opens
    for store in opened:
        await store.close()


@pytest.fixture(params=["memory", "postgres"])
async def store(request: pytest.FixtureRequest, postgres: Open) -> Store:
    return MemoryStore() if request.param == "memory" else await postgres()


async def admit(store: Store, attempt_id: str, **given: Any) -> str:
    admission = Admission(attempt_id=attempt_id, order={"attemptId": attempt_id, "n": [1.5, None]}, **given)
    return await store.admit(admission, most_open=2)


async def claim(store: Store, most_running: int = 9, lease_s: float = 30.0) -> Claim | None:
    return await store.claim(most_running=most_running, lease_s=lease_s)


async def claimed(store: Store, duty: str = "play", **given: Any) -> Claim:
    found = await claim(store, **given)
    assert found
    assert found.duty == duty
    return found


async def test_admission_is_deduplicated_and_bounded(store: Store) -> None:
    assert [await admit(store, name) for name in ("a", "b", "a", "c")] == [
        "admitted", "admitted", "known", "full",
    ]  # fmt: skip
    assert await store.admit(Admission(attempt_id="a", order={}), most_open=9) == "differs"
    first = await claimed(store)
    assert (first.attempt_id, dict(first.order)) == ("a", {"attemptId": "a", "n": [1.5, None]})
    assert await admit(store, "c") == "full", "what runs keeps its place"
    await store.finish(first, {"type": "case-completed"}, None)
    assert await admit(store, "c") == "admitted"


async def test_places_and_locks_are_held_until_the_end(store: Store) -> None:
    await admit(store, "a", lock="till")
    await admit(store, "b", lock="till")
    first = await claimed(store, most_running=2)
    assert await claim(store, most_running=2) is None, "its lock is taken"
    await store.admit(Admission(attempt_id="c", order={}), most_open=9)
    await claimed(store, most_running=2)
    await store.finish(first, {"type": "case-completed"}, None)
    assert (await claimed(store, most_running=2)).attempt_id == "b"
    assert await claim(store, most_running=2) is None


async def test_events_are_read_by_cursor_and_size(store: Store) -> None:
    await admit(store, "a")
    held = await claimed(store)
    for number in range(4):
        await store.append(held, {"number": number, "text": "\0ü" * 20})
    page = await store.read("a", 1, most=2, max_bytes=10_000)
    assert page
    assert [(at, event["number"]) for at, event in page.events] == [(2, 1), (3, 2)]
    assert page.events[0][1]["text"] == "\0ü" * 20
    small = await store.read("a", 0, most=9, max_bytes=1)
    assert small
    assert len(small.events) == 1, "the first one is given whatever its size"
    await store.finish(held, None, RouteError(code="x", message="y"))
    end = await store.read("a", 4, most=9, max_bytes=10_000)
    assert end
    assert (end.events, end.state, end.error and end.error.code) == ((), "refused", "x")
    assert await store.read("nobody", 0, most=9, max_bytes=10_000) is None


async def test_lost_lease_writes_nothing_more_and_is_played_again_only_where_it_is_safe(store: Store) -> None:
    await admit(store, "a")
    await admit(store, "b", replay_safe=True)
    lost = [await claimed(store, lease_s=0.3) for _ in range(2)]
    await asyncio.sleep(0.35)
    found = [await claimed(store, "lost" if name == "a" else "play", most_running=0) for name in ("a", "b")]
    assert [one.attempt_id for one in found] == ["a", "b"]
    for one in lost:
        with pytest.raises(LeaseLost):
            await store.append(one, {"type": "late"})
        with pytest.raises(LeaseLost):
            await store.finish(one, {"type": "late"}, None)
    held = await store.renew({one.attempt_id: one.token for one in (lost[0], found[1])}, lease_s=30)
    assert held == {"a": "lost", "b": "held"}
    page = await store.read("a", 0, most=9, max_bytes=10_000)
    assert page
    assert page.events == ()


async def test_cancel_of_what_waits_needs_no_free_place(store: Store) -> None:
    await admit(store, "a")
    held = await claimed(store)
    await admit(store, "b")
    assert (await store.cancel("a"), await store.cancel("b"), await store.cancel("c")) == (
        "running", "queued", None,
    )  # fmt: skip
    assert await store.renew({"a": held.token}, lease_s=30) == {"a": "cancelled"}
    assert (await claimed(store, "cancel", most_running=1)).attempt_id == "b"


async def test_what_ended_is_forgotten_and_nothing_else(store: Store) -> None:
    await admit(store, "a")
    await admit(store, "b")
    await store.finish(await claimed(store), {"type": "case-completed"}, None)
    await store.forget(ended_s_ago=60)
    assert await store.read("a", 0, most=9, max_bytes=10_000)
    await asyncio.sleep(0.02)
    await store.forget(ended_s_ago=0)
    assert await store.read("a", 0, most=9, max_bytes=10_000) is None
    assert await store.read("b", 0, most=9, max_bytes=10_000)


async def test_replicas_share_one_memory_and_never_one_attempt(postgres: Open) -> None:
    stores = [await postgres() for _ in range(3)]
    assert len({store.instance for store in stores}) == 1
    admissions = [Admission(attempt_id=f"a{n}", order={}) for n in range(12)]
    admitted = await asyncio.gather(
        *(store.admit(one, most_open=10) for one in admissions for store in stores)
    )
    assert admitted.count("admitted") == 10
    claims = await asyncio.gather(*(claim(stores[n % 3], most_running=5) for n in range(12)))
    taken = [one.attempt_id for one in claims if one]
    assert len(taken) == len(set(taken)) == 5, "the bound holds over all replicas"


async def test_another_namespace_is_another_world(postgres: Open, database_url: str) -> None:
    store = await postgres()
    await admit(store, "a")
    other = PostgresStore(database_url, "other")
    await other.open()
    try:
        assert other.instance != store.instance
        assert (await claim(other), await other.cancel("a")) == (None, None)
        assert await other.read("a", 0, most=9, max_bytes=10_000) is None
    finally:
        await other.close()


@pytest.mark.parametrize("replay_safe", [False, True])
async def test_queued_attempts_outlive_the_app_and_lost_ones_end_with_what_was_seen(
    postgres: Open, replay_safe: bool
) -> None:
    asked: list[str] = []
    stuck = asyncio.Event()

    async def agent(turn: Any) -> str:
        asked.append(turn.text)
        if turn.text == "second":
            stuck.set()
            await asyncio.sleep(60)
        return "x"

    played = suite(step("first"), step("second"))
    played["cases"][0]["replaySafe"] = replay_safe
    evals = Evals(agent=agent, suites=[played])
    plans = [plan_of(evals, f"attempt-{n}") for n in (1, 2)]
    times = HostTimes(lease_s=0.6, renew_s=0.1, close_s=0.1)
    store = await postgres()
    dying = evals.asgi(service_key=KEY, store=store, times=times, capacity=Capacity(concurrent=1))
    async with served(dying) as service:
        await service.admit(plans[0])
        await stuck.wait()
        page = await service.page("attempt-1")
        while not any(told.event.step for told in page.events):
            page = await service.page("attempt-1", page.cursor)
        await service.admit(plans[1])
        # What a killed process leaves: a lease that nobody renews, and one that waits.
        await store.close()
        host = dying._host
        assert host
        for task in (*host._tasks, *host._playing):
            task.cancel()
        await asyncio.wait([*host._tasks, *host._playing])
    asked.clear()

    def calm(turn: Any) -> str:
        asked.append(turn.text)
        return "x"

    again = Evals(agent=calm, suites=evals.list_suites())
    async with served(again.asgi(service_key=KEY, store=await postgres(), times=times)) as service:
        await service.instance()
        lost, waited = [(await service.follow(plan)).record for plan in plans]
    assert lost
    assert waited
    assert waited.status == "passed"
    if replay_safe:
        assert lost.status == "passed"
        assert sorted(asked) == ["first", "first", "second", "second"]
    else:
        assert (lost.status, lost.errors[-1].code, len(lost.steps)) == ("error", "lease_lost", 1)
        assert asked == ["first", "second"], "only what waited was played"
