"""A run changes hands: nothing that was kept is repeated, and the conversation stays the same."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any
from uuid import UUID

import pytest

from parley.server.conversation.guard import HANDED_OVER
from parley.server.journal.keep import Journal
from parley.server.llm.demo import Hang, Rule, opinion
from parley.server.runs.execute import Executor
from parley.server.wiring import open_services
from parley.server.worker.main import Worker, WorkerBroken
from tests.event_order import assert_in_order, assert_one_end
from tests.stage import Stage, told, until
from tests.stories_told import EVENTFUL_FIELDS, eventful

FIELDS: dict[str, Any] = {"seed": 7, "max_turns": 3, "profile": "low"}


def said(run: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The conversation without times, costs and places."""
    return [
        (item["role"], item["turn"], item["content"], item.get("tool_calls"), item.get("opinion"))
        for item in run["conversation"]
    ]


def spent(run: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(one["role"], one["turn"], one["attempt"], one["reason"], one["code"]) for one in run["attempts"]]


async def undisturbed(stage: Stage, **fields: Any) -> dict[str, Any]:
    """The same run, carried out by one worker."""
    async with stage.worker():
        return await stage.finished(await stage.start(await stage.make_test(**fields)))


async def assert_sound(stage: Stage, path: str) -> None:
    """Entries are numbered without gaps, each is charged at most once, and money adds up."""
    run_id = UUID(path[-36:])
    seqs = [
        row["seq"]
        for row in await stage.rows("SELECT seq FROM entries WHERE run_id = $1 ORDER BY seq", run_id)
    ]
    assert seqs == list(range(1, len(seqs) + 1))
    [row] = await stage.rows(
        "SELECT cost, (SELECT -sum(amount) FROM ledger WHERE source_id = runs.id) AS charged,"
        " (SELECT sum(cost) FROM entries WHERE run_id = runs.id) AS kept FROM runs WHERE id = $1",
        run_id,
    )
    assert row["cost"] == row["charged"] == row["kept"]


@pytest.mark.parametrize("part", ["user", "assistant", "judge"])
async def test_worker_that_stops_in_mid_inference_hands_over_at_once(stage: Stage, part: str) -> None:
    wanted = await undisturbed(stage, **FIELDS)
    stage.llms.reset()
    stage.llms.configure(gap_ms=15)
    async with stage.worker() as first:
        path = await stage.start(await stage.make_test(**FIELDS))
        await until(lambda: stage.llms.stats.by_llm.get(part) == 2)
        await first.stop()
    [row] = await stage.rows("SELECT state, lease_token FROM runs ORDER BY id DESC LIMIT 1")
    assert row == {"state": "running", "lease_token": None}
    stage.llms.configure(gap_ms=0)
    async with stage.worker():
        run = await stage.finished(path)
    assert said(run) == said(wanted)
    assert spent(run) == [(part, 2, 1, "handed_over", "handed_over")]
    assert stage.llms.stats.requests == 3 * 3 + 1, "only the attempt under way was made again"
    frames = await stage.events(path)
    assert_in_order(frames)
    [retry] = [frame.data for frame in frames if frame.type == "unhandled_error"]
    assert (retry["code"], retry["will_retry"]) == ("handed_over", True)
    await assert_sound(stage, path)


async def test_watcher_sees_one_story_through_a_hand_over(stage: Stage) -> None:
    stage.llms.configure(gap_ms=60)  # what is seen 100 ms late is still being said
    async with stage.worker() as first:
        path = await stage.start(await stage.make_test(**FIELDS))
        async with stage.watching(path) as (reading, chunks):
            async for chunk in chunks:
                reading.raw += chunk
                if len(told(reading.frames)) > 12 and "content" in reading.frames[-1].data:
                    break
            async with stage.worker():
                await first.stop()
                async for chunk in chunks:
                    reading.raw += chunk
    assert_in_order(reading.frames)
    assert told(reading.frames) == told(await stage.events(path))
    assert sum(frame.type == "unhandled_error" for frame in reading.frames) == 1


async def test_run_of_a_dead_worker_goes_on_after_its_lease(stage: Stage) -> None:
    """C151"""
    wanted = await undisturbed(stage, **FIELDS)
    stage.llms.reset()
    stage.llms.configure(gap_ms=5)
    async with stage.worker() as first:
        path = await stage.start(await stage.make_test(**FIELDS))
        await until(lambda: stage.llms.stats.by_llm.get("assistant") == 2)
        await first.kill()
    kept_before = await stage.rows(
        "SELECT seq, body FROM entries WHERE run_id = $1 ORDER BY seq", run_of(path)
    )
    stage.llms.configure(gap_ms=0)
    async with stage.worker():
        run = await stage.finished(path)
    assert said(run) == said(wanted)
    assert spent(run) == [("assistant", 2, 1, "handed_over", "worker_lost")]
    assert run["attempts"][0]["usage"] is None, "nobody knows what a lost attempt used"
    kept = await stage.rows("SELECT seq, body FROM entries WHERE run_id = $1 ORDER BY seq", run_of(path))
    assert kept[: len(kept_before)] == kept_before
    frames = await stage.events(path)
    assert_in_order(frames)
    [retry] = [frame.data for frame in frames if frame.type == "unhandled_error"]
    assert (retry["code"], retry["will_retry"], retry["scope"]) == ("worker_lost", True, "gateway_inference")
    await assert_sound(stage, path)


def run_of(path: str) -> UUID:
    return UUID(path[-36:])


async def let_lease_end(stage: Stage, path: str) -> None:
    async with stage.services.database.raw() as connection:
        await connection.execute("UPDATE runs SET lease_until = now() WHERE id = $1", run_of(path))


async def lose_worker_at(stage: Stage, path: str, gateway_calls: int) -> None:
    async with stage.worker() as worker:
        await until(lambda: stage.llms.stats.by_llm.get("assistant") == gateway_calls)
        await worker.kill()
    await let_lease_end(stage, path)


async def test_run_that_loses_three_workers_without_progress_is_given_up(stage: Stage) -> None:
    """C151"""
    stage.play(Rule((Hang(2),), part="assistant"))
    path = await stage.start(await stage.make_test(**FIELDS))
    for number in (1, 2, 3):
        await lose_worker_at(stage, path, number)
    async with stage.worker():
        run = await stage.finished(path)
    assert (run["state"], run["error"]["code"]) == ("failed", "worker_lost")
    assert [one["code"] for one in run["attempts"]] == ["worker_lost"] * 3
    assert stage.llms.stats.by_llm["assistant"] == 3, "nobody tries a fourth time"
    assert_one_end(await stage.events(path))


async def test_progress_between_lost_workers_keeps_a_run_alive(stage: Stage) -> None:
    twice = (Hang(2), Hang(2))
    stage.play(*(Rule(twice, part="assistant", turn=turn, times=2) for turn in (1, 2)))
    path = await stage.start(await stage.make_test(**FIELDS))
    for number in (1, 2, 4, 5):
        await lose_worker_at(stage, path, number)
    async with stage.worker():
        run = await stage.finished(path)
    assert run["state"] == "succeeded"
    assert [(one["turn"], one["code"]) for one in run["attempts"]] == [
        (1, "worker_lost"),
        (1, "worker_lost"),
        (2, "worker_lost"),
        (2, "worker_lost"),
    ]


async def test_worker_lost_between_the_last_opinion_and_the_end_leaves_only_the_end_to_write(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No inference was under way: no attempt is counted, no message begins anew."""
    reached = asyncio.Event()

    async def never(*_: Any) -> Any:
        reached.set()
        await asyncio.Event().wait()

    stage.play(Rule((opinion(0.95),), part="judge"))
    path = await stage.start(await stage.make_test(**FIELDS))
    with monkeypatch.context() as patched:
        patched.setattr("parley.server.runs.hold.finish", never)
        async with stage.worker() as first:
            await asyncio.wait_for(reached.wait(), 10)
            await first.kill()
    await let_lease_end(stage, path)
    async with stage.worker():
        run = await stage.finished(path)
    assert (run["state"], run["outcome"]) == ("succeeded", "success")
    assert spent(run) == [("judge", 1, 0, "handed_over", "worker_lost")]
    assert stage.llms.stats.requests == 3
    frames = await stage.events(path)
    assert_one_end(frames)
    assert [frame.type for frame in frames[-3:]] == [
        "usage_updated",
        "unhandled_error",
        "chat.validation.end",
    ]


async def test_run_resumed_after_every_single_entry_is_the_same(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.play(*eventful())
    wanted = await undisturbed(stage, **EVENTFUL_FIELDS)
    stage.play(*eventful())
    path = await stage.start(await stage.make_test(**EVENTFUL_FIELDS))
    async with stage.worker() as worker:
        keep = Journal.keep

        async def keep_one(journal: Journal, *entry: Any) -> Any:
            standing = await keep(journal, *entry)
            for held in worker.executor._held.values():
                held.guard.stop(HANDED_OVER)
            return standing

        monkeypatch.setattr(Journal, "keep", keep_one)
        run = await stage.finished(path)
        executor: Executor = worker.executor
        assert executor.held == 0
    assert said(run) == said(wanted)
    assert spent(run) == spent(wanted)
    assert run["result"] == wanted["result"]
    await assert_sound(stage, path)
    assert_in_order(await stage.events(path))


async def test_cancellation_between_claim_and_start_is_obeyed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C167: the row says running, the worker has not begun; no call is made after the cancellation."""
    from parley.server.runs.prepare import SnapshotPreparation

    prepare = SnapshotPreparation.prepare
    path = ""

    async def cancelled_meanwhile(*given: Any) -> Any:
        prepared = await prepare(*given)
        answer = await stage.http.post(f"{path}/cancel")
        assert answer.json()["data"]["state"] == "running"
        await until(lambda: given[2].stopped())
        return prepared

    monkeypatch.setattr(SnapshotPreparation, "prepare", cancelled_meanwhile)
    path = await stage.start(await stage.make_test(**FIELDS))
    async with stage.worker():
        run = await stage.finished(path)
    assert (run["state"], run["conversation"], run["attempts"]) == ("cancelled", [], [])
    assert stage.llms.stats.requests == 0


async def test_cancellation_that_meets_no_worker_waits_for_the_next(stage: Stage) -> None:
    stage.play(Rule((Hang(2),), part="assistant"))
    async with stage.worker() as first:
        path = await stage.start(await stage.make_test(**FIELDS))
        await until(lambda: stage.llms.stats.by_llm.get("assistant"))
        await first.kill()
    assert (await stage.http.post(f"{path}/cancel")).json()["data"]["state"] == "running"
    await let_lease_end(stage, path)
    async with stage.worker():
        run = await stage.finished(path)
    assert run["state"] == "cancelled"
    assert stage.llms.stats.by_llm == {"user": 1, "assistant": 1}


async def test_stalled_worker_that_wakes_after_its_lease_writes_nothing(stage: Stage) -> None:
    """The old holder's entry is refused, and it lets go; the new holder's stand."""

    async def asleep(*_: Any) -> None:
        await asyncio.Event().wait()

    stage.llms.configure(gap_ms=5)
    async with stage.worker() as first:
        path = await stage.start(await stage.make_test(**FIELDS))
        await until(lambda: stage.llms.stats.by_llm.get("assistant") == 1)
        first.executor._renew = first.executor._look = asleep
        await let_lease_end(stage, path)
        async with stage.worker():
            run = await stage.finished(path)
        await until(lambda: first.held == 0)
    assert run["state"] == "succeeded"
    await assert_sound(stage, path)
    assert_in_order(await stage.events(path))


@pytest.mark.parametrize("part", ["sweep", "run-heartbeat", "queue-consumer", "reactions"])
async def test_worker_of_which_a_part_has_ended_hands_over_and_leaves(stage: Stage, part: str) -> None:
    """C159: the process must not live on and do only half of its work."""
    stage.play(Rule((Hang(2),), part="assistant"))
    async with open_services(stage.settings) as services:
        working = asyncio.create_task(Worker(services).run(asyncio.Event()))
        await stage.start(await stage.make_test(**FIELDS))
        await until(lambda: stage.llms.stats.by_llm.get("assistant"))
        [task] = [task for task in asyncio.all_tasks() if task.get_name() == part]
        task.cancel()
        with pytest.raises(WorkerBroken, match=part):
            await asyncio.wait_for(working, 10)
    assert await stage.rows("SELECT state, lease_token FROM runs") == [
        {"state": "running", "lease_token": None}
    ]


async def test_run_that_breaks_our_code_ends_and_says_so(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C101"""
    monkeypatch.setattr("parley.engine.converse.judge_messages", lambda *_: 1 / 0)
    async with stage.worker():
        run = await stage.finished(await stage.start(await stage.make_test(**FIELDS)))
    assert (run["state"], run["error"]["code"]) == ("failed", "worker_lost")
    assert [item["role"] for item in run["conversation"]] == ["user", "assistant"]


async def test_run_with_as_many_entries_as_one_may_keep_ends(stage: Stage) -> None:
    run_settings = stage.settings.run.model_copy(update={"most_entries": 10})
    async with stage.worker(dataclasses.replace(stage.settings, run=run_settings)):
        run = await stage.finished(path := await stage.start(await stage.make_test(max_turns=8)))
    assert (run["state"], run["error"]["code"]) == ("failed", "entry_limit")
    [kept] = await stage.rows("SELECT max(seq) AS last FROM entries WHERE run_id = $1", UUID(path[-36:]))
    assert kept["last"] == 11  # the end is an entry, too


async def test_snapshot_of_another_version_fails_with_a_reason(stage: Stage) -> None:
    """C163: an old row meets new code."""
    path = await stage.start(await stage.make_test(**FIELDS))
    async with stage.services.database.raw() as connection:
        await connection.execute("UPDATE runs SET definition = jsonb_set(definition, '{version}', '99')")
    async with stage.worker():
        frames = await stage.events(path)
    assert_one_end(frames)
    [row] = await stage.rows("SELECT state, error->>'code' AS code FROM runs")
    assert row == {"state": "failed", "code": "worker_lost"}
