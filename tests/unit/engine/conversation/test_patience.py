"""A limit ends a wait of the conversation, and never anything else."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable

import pytest

from parley.engine.fakes import OpenGuard
from parley.engine.patience import Patience, WaitEnded
from parley.engine.ports import Deadlines, Stop

STOP = Stop(code="cancelled", message="stop")
SOON_S = 0.01
LATE_S = 30.0
FAR = Deadlines(first_piece_s=LATE_S, idle_s=LATE_S, whole_s=LATE_S)


async def forever() -> None:
    await asyncio.Event().wait()


def is_undisturbed() -> bool:
    """Whether the task that runs the test is not being cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() == 0


async def pieces_then_silence(count: int) -> AsyncGenerator[int, None]:
    for number in range(count):
        yield number
    await forever()


async def ticking() -> AsyncGenerator[int, None]:
    number = 0
    while True:
        await asyncio.sleep(0.001)
        yield number
        number += 1


async def limit_of(pieces: AsyncGenerator[int, None], deadlines: Deadlines) -> str:
    """The limit that ends these pieces."""
    with Patience(OpenGuard(), deadlines) as patience:
        patience.begin()
        try:
            while True:
                await patience.next(pieces)
        except WaitEnded as ended:
            return ended.limit
        finally:
            await pieces.aclose()


async def test_first_piece_has_a_deadline() -> None:
    deadlines = Deadlines(first_piece_s=SOON_S, idle_s=LATE_S, whole_s=LATE_S)
    assert await limit_of(pieces_then_silence(0), deadlines) == "first_token_timeout"
    assert is_undisturbed()


async def test_gap_between_pieces_has_a_deadline_of_its_own() -> None:
    """Also while the first piece's deadline is still far away."""
    deadlines = Deadlines(first_piece_s=LATE_S, idle_s=SOON_S, whole_s=LATE_S)
    assert await limit_of(pieces_then_silence(3), deadlines) == "idle_timeout"
    assert is_undisturbed()


async def test_inference_that_goes_on_and_on_is_ended() -> None:
    deadlines = Deadlines(first_piece_s=LATE_S, idle_s=LATE_S, whole_s=SOON_S)
    assert await limit_of(ticking(), deadlines) == "inference_timeout"
    assert is_undisturbed()


async def kept_alive(count: int) -> AsyncGenerator[int, None]:
    """Pieces, then a connection that shows signs of life and says nothing."""
    for number in range(count):
        yield number
    for _sign_of_life in itertools.count():
        await asyncio.sleep(0.001)


@pytest.mark.parametrize(("count", "limit"), [(0, "first_token_timeout"), (1, "idle_timeout")])
async def test_keep_alives_are_no_pieces(count: int, limit: str) -> None:
    deadlines = Deadlines(first_piece_s=SOON_S, idle_s=SOON_S, whole_s=LATE_S)
    assert await limit_of(kept_alive(count), deadlines) == limit


async def test_gap_is_counted_from_the_piece_before() -> None:
    """Pieces that come in time never end at the idle deadline, however many there are."""
    deadlines = Deadlines(first_piece_s=LATE_S, idle_s=0.2, whole_s=0.3)
    assert await limit_of(ticking(), deadlines) == "inference_timeout"


async def test_end_of_the_pieces_is_the_end() -> None:
    async def one() -> AsyncGenerator[int, None]:
        yield 1

    pieces = one()
    with Patience(OpenGuard(), FAR) as patience:
        patience.begin()
        assert await patience.next(pieces) == 1
        with pytest.raises(StopAsyncIteration):
            await patience.next(pieces)


async def test_slow_consumer_is_not_an_idle_llm() -> None:
    deadlines = Deadlines(first_piece_s=LATE_S, idle_s=SOON_S, whole_s=LATE_S)
    with Patience(OpenGuard(), deadlines) as patience:
        patience.begin()
        pieces = ticking()
        await patience.next(pieces)
        await asyncio.sleep(3 * SOON_S)
        await patience.next(pieces)
        await pieces.aclose()


async def held(guard: OpenGuard, deadlines: Deadlines) -> AsyncGenerator[int, None]:
    """Pieces under limits, as a conversation gives them."""
    with Patience(guard, deadlines) as patience:
        patience.begin()
        pieces = pieces_then_silence(2)
        try:
            while True:
                yield await patience.next(pieces)
        except WaitEnded:
            yield -1
        finally:
            await pieces.aclose()


async def test_stop_never_cancels_the_consumer() -> None:
    guard = OpenGuard()
    events = held(guard, FAR)
    assert await anext(events) == 0
    asyncio.get_running_loop().call_soon(guard.stop, STOP)
    await asyncio.sleep(SOON_S)
    assert await anext(events) == -1
    await events.aclose()
    assert is_undisturbed()


async def test_deadline_never_cancels_the_consumer() -> None:
    deadlines = Deadlines(first_piece_s=LATE_S, idle_s=LATE_S, whole_s=SOON_S)
    events = held(OpenGuard(), deadlines)
    assert await anext(events) == 0
    await asyncio.sleep(3 * SOON_S)
    assert await anext(events) == -1
    await events.aclose()
    assert is_undisturbed()


async def test_stop_ends_a_wait() -> None:
    guard = OpenGuard()
    asyncio.get_running_loop().call_soon(guard.stop, STOP)
    with Patience(guard, None) as patience, pytest.raises(WaitEnded) as ended:
        await patience.wait(forever)
    assert ended.value.limit == "stopped"
    assert is_undisturbed()


async def test_nothing_is_started_after_a_stop() -> None:
    guard = OpenGuard()
    guard.stop(STOP)
    started: list[bool] = []

    async def start() -> None:
        started.append(True)

    with Patience(guard, None) as patience:
        for _ in range(2):
            with pytest.raises(WaitEnded):
                await patience.wait(start)
    assert not started


async def test_stop_given_from_inside_the_wait_ends_it() -> None:
    guard = OpenGuard()

    async def stopping() -> None:
        guard.stop(STOP)
        await forever()

    with Patience(guard, None) as patience, pytest.raises(WaitEnded):
        await patience.wait(stopping)
    assert is_undisturbed()


async def test_stop_given_at_the_very_end_of_a_wait_does_not_reach_the_consumer() -> None:
    guard = OpenGuard()

    async def stopping() -> str:
        guard.stop(STOP)
        return "done"

    with Patience(guard, None) as patience:
        assert await patience.wait(stopping) == "done"
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        with pytest.raises(WaitEnded):
            await patience.wait(forever)
    assert is_undisturbed()


async def _swallows() -> str:
    try:
        await forever()
    except asyncio.CancelledError:
        return "swallowed"
    return "ended"


async def _translates() -> str:
    try:
        await forever()
    except asyncio.CancelledError:
        raise ConnectionError from None
    return "ended"


@pytest.mark.parametrize("rude", [_swallows, _translates])
async def test_cancellation_that_is_swallowed_leaves_no_trace(rude: Callable[[], Awaitable[str]]) -> None:
    guard = OpenGuard()
    asyncio.get_running_loop().call_soon(guard.stop, STOP)
    with Patience(guard, None) as patience:
        try:
            assert await patience.wait(rude) == "swallowed"
        except ConnectionError:
            assert rude is _translates
        assert is_undisturbed()
        with pytest.raises(WaitEnded):
            await patience.wait(forever)


async def _waits(guard: OpenGuard, log: list[str]) -> None:
    with Patience(guard, None) as patience:
        try:
            await patience.wait(forever)
        except WaitEnded:
            log.append("stopped")
        except asyncio.CancelledError:
            assert not is_undisturbed(), "whoever cancelled can still be told so"
            log.append("cancelled")
            raise


@pytest.mark.parametrize("order", ["cancel", "cancel stop", "stop cancel"])
async def test_real_cancellation_goes_through(order: str) -> None:
    guard, log = OpenGuard(), list[str]()
    task = asyncio.create_task(_waits(guard, log))
    await asyncio.sleep(0)
    for action in order.split():
        if action == "stop":
            guard.stop(STOP)
        else:
            task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert log == ["cancelled"]


async def test_stop_works_in_a_task_that_survived_a_cancellation() -> None:
    guard, log = OpenGuard(), list[str]()

    async def survivor() -> None:
        try:
            await forever()
        except asyncio.CancelledError:
            await _waits(guard, log)

    task = asyncio.create_task(survivor())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    guard.stop(STOP)
    await task
    assert log == ["stopped"]


async def test_no_timer_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    timers: list[asyncio.TimerHandle] = []
    call_at = loop.call_at

    def remembered(*args: object, **kwargs: object) -> asyncio.TimerHandle:
        timers.append(call_at(*args, **kwargs))  # type: ignore[arg-type]
        return timers[-1]

    monkeypatch.setattr(loop, "call_at", remembered)
    with Patience(OpenGuard(), FAR) as patience:
        patience.begin()
        pieces = pieces_then_silence(2)
        await patience.next(pieces)
        await patience.next(pieces)
        await pieces.aclose()
    assert timers
    assert all(timer.cancelled() for timer in timers)


async def test_guard_forgets_a_step_that_is_over() -> None:
    guard = OpenGuard()
    with Patience(guard, None):
        pass
    guard.stop(STOP)
    await asyncio.sleep(0)
    assert is_undisturbed()
