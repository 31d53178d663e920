"""`GET .../runs/{run}/events`: what has happened, then live, to the one terminal event."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

from parley.server.config import RunSettings, Settings
from parley.server.llm.demo import CallTool, Cut, Hang, Refuse, Rule, Say, Status, opinion
from tests.event_order import assert_in_order, assert_one_end
from tests.factories.accounts import Tenant
from tests.stage import Frame, Stage, client_of, frames_of, told
from tests.stories_told import EVENTFUL_FIELDS, eventful

PLAIN: dict[str, Any] = {"seed": 7, "max_turns": 2, "profile": "low"}
OPENED: dict[str, Any] = {**PLAIN, "start": [{"role": "user", "content": "Where is my parcel?"}]}

STORIES: dict[str, tuple[dict[str, Any], tuple[Rule, ...]]] = {
    "eventful": (EVENTFUL_FIELDS, eventful()),
    "success-at-once": (PLAIN, (Rule((opinion(0.95),), part="judge"),)),
    "loss": (
        {**PLAIN, "max_turns": 5},
        (Rule((opinion(0.1),), part="judge"),),
    ),
    "opened-by-start": (OPENED, (Rule((opinion(0.95),), part="judge"),)),
    "refusal-filter-truncation": (
        {**PLAIN, "max_turns": 3},
        (
            Rule((Refuse("I must not."),), part="assistant", turn=1),
            Rule((Say("I", finish="content_filter"),), part="assistant", turn=2),
            Rule((Say("I was about", finish="length"),), part="assistant", turn=3),
        ),
    ),
    "gateway-fails-for-good": (PLAIN, (Rule((Status(500),), part="assistant"),)),
    "gateway-fails-after-text": (PLAIN, (Rule((Cut(3),), part="assistant"),)),
    "gateway-refuses": (PLAIN, (Rule((Status(401),), part="assistant"),)),
    "user-says-nothing": ({**PLAIN, "allow_user_exit": False}, (Rule((Say(""),), part="user"),)),
    "judge-cannot-be-read": (PLAIN, (Rule((Say("Rather not."),), part="judge"),)),
}


@pytest.mark.parametrize("name", STORIES)
async def test_direct_live_and_replayed_streams_tell_the_same(stage: Stage, name: str) -> None:
    """C176: whatever was streamed of a persisted run is found in storage."""
    fields, script = STORIES[name]
    stage.play(*script)
    direct = (await stage.evaluated(**fields)).frames
    assert_one_end(direct)
    if direct[-1].type == "chat.validation.end":
        assert_in_order(direct)
    stage.play(*script)
    test_id = await stage.make_test(**fields)
    async with stage.worker():
        path = await stage.start(test_id)
        live = await stage.events(path)
    replayed = await stage.events(path)
    assert told(live) == told(direct)
    assert told(replayed) == told(direct)
    assert_one_end(live)
    assert_one_end(replayed)
    assert live[-1].id == replayed[-1].id


async def test_replay_tells_abandoned_attempts_without_their_words(stage: Stage) -> None:
    stage.play(*eventful())
    test_id = await stage.make_test(**EVENTFUL_FIELDS)
    async with stage.worker():
        path = await stage.start(test_id)
        live = await stage.events(path)
    replayed = await stage.events(path)
    retries = [frame for frame in replayed if frame.type == "unhandled_error"]
    assert [frame.data["code"] for frame in retries] == [
        "stream_cut",
        "reply_empty",
        "rate_limited",
        "opinion_without_object",
        "stream_cut",
    ]
    assert [f.data for f in live if f.type == "unhandled_error"] == [frame.data for frame in retries]
    for place, frame in enumerate(replayed):
        if frame.type == "unhandled_error":
            assert not frame.data.get("content")
            assert replayed[place - 1].type.endswith(("start_generation", "analysis_start", "tool_result"))
            assert replayed[place + 1].type.endswith(("start_generation", "analysis_start"))


def resumed_story(before: Sequence[Frame], rest: Sequence[Frame]) -> list[tuple[str, dict[str, Any]]]:
    return told([*before, *rest])


async def test_reader_of_an_ended_run_cut_at_any_byte_assembles_the_same(stage: Stage) -> None:
    stage.llms.configure(gap_ms=2)
    stage.play(*eventful())
    test_id = await stage.make_test(**EVENTFUL_FIELDS)
    async with stage.worker():
        path = await stage.start(test_id)
        live = await stage.recorded(path)
    raw, frames = bytes(live.raw), live.frames
    assert sum(":" in frame.id for frame in frames) > 50, "the recording has ids in the middle of texts"
    # Whatever the byte, what a cut reader keeps is the events that came whole.
    borders = sorted({raw[:cut].count(b"\n\n") for cut in range(len(raw) + 1)})
    assert borders == list(range(len(frames) + 1))
    whole_story = told(frames)

    async def resumed(kept: int) -> None:
        rest = await stage.events(path, frames[kept - 1].id if kept else None)
        assert resumed_story(frames[:kept], rest) == whole_story, frames[kept - 1]

    for group in range(0, len(borders), 20):
        await asyncio.gather(*map(resumed, borders[group : group + 20]))


async def test_live_reader_that_is_cut_again_and_again_assembles_the_same(stage: Stage) -> None:
    stage.llms.configure(gap_ms=8)
    stage.play(*eventful())
    test_id = await stage.make_test(**EVENTFUL_FIELDS)
    async with stage.worker():
        path = await stage.start(test_id)
        steady = asyncio.create_task(stage.recorded(path))
        kept: list[Frame] = []
        cuts = 0
        while not kept or kept[-1].type != "chat.validation.end":
            async with stage.watching(path, kept[-1].id if kept else None) as (reading, chunks):
                async for chunk in chunks:
                    reading.raw += chunk
                    if reading.frames:
                        break
            kept += frames_of(reading.raw[: len(reading.raw) - cuts % 7]) or reading.frames
            cuts += 1
        frames = (await steady).frames
    assert cuts > 10
    assert told(kept) == told(frames) == told(await stage.events(path))


async def test_reader_who_joins_in_the_middle_of_a_message_gets_its_beginning(stage: Stage) -> None:
    stage.llms.configure(gap_ms=15)
    stage.play(Rule((Say("one two three four five six seven eight nine ten"),), part="user"))
    test_id = await stage.make_test(**PLAIN)
    async with stage.worker():
        path = await stage.start(test_id)
        async with stage.watching(path) as (first, chunks):
            async for chunk in chunks:
                first.raw += chunk
                if b"three" in first.raw:
                    break
        late = await stage.events(path)
    assert [frame.type for frame in late[:2]] == ["chat.start", "chat.user_message.start_generation"]
    assert told(late) == told(await stage.events(path))


@pytest.mark.parametrize("place", ["x", "1:", ":1", "-1", "1:2:3", "1.5", "9999999999", "1 2"])
async def test_id_that_is_none_of_ours_is_refused(stage: Stage, place: str) -> None:
    path = await stage.start(await stage.make_test())
    answer = await stage.http.get(f"{path}/events", headers={"Last-Event-ID": place})
    assert answer.status_code == 400
    assert answer.json()["details"][0]["field"] == "Last-Event-ID"


async def test_reader_who_has_all_of_it_gets_nothing_more(stage: Stage) -> None:
    stage.play(Rule((opinion(0.95),), part="judge"))
    async with stage.worker():
        path = await stage.start(await stage.make_test(**PLAIN))
        frames = await stage.events(path)
    assert await stage.events(path, frames[-1].id) == []


async def test_stream_is_sent_at_once_uncached_and_uncompressed(stage: Stage) -> None:
    """C093"""
    path = await stage.start(await stage.make_test())
    client = client_of(stage.url, {**stage.tenant.auth, "Accept-Encoding": "gzip, br"})
    async with client, stage.watching(path, client=client) as (reading, _):
        assert reading.status == 200
        assert reading.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert "no-store" in reading.headers["cache-control"]
        assert reading.headers["x-accel-buffering"] == "no"
        assert "content-encoding" not in reading.headers


class TestSilence:
    """A run that keeps its readers waiting."""

    @pytest.fixture
    def stage_settings(self, stage_settings: Settings) -> Settings:
        return dataclasses.replace(stage_settings, run=RunSettings(sse_ping_s=0.15, stream_check_s=0.2))

    async def test_silence_is_filled_with_comments(self, stage: Stage) -> None:
        """C094"""
        stage.play(Rule((Hang(2),), part="assistant"))
        async with stage.worker():
            path = await stage.start(await stage.make_test(**PLAIN))
            async with stage.watching(path) as (reading, chunks), asyncio.timeout(10):
                async for chunk in chunks:
                    reading.raw += chunk
                    if reading.pings >= 3:
                        break
            await stage.http.post(f"{path}/cancel")
            frames = await stage.events(path)
        assert reading.frames[0].type == "chat.start"
        assert told(reading.frames)[:3] == told(frames)[:3]

    async def test_reader_of_a_pending_run_hears_comments_alone(self, stage: Stage) -> None:
        path = await stage.start(await stage.make_test(**PLAIN))
        async with stage.watching(path) as (reading, chunks), asyncio.timeout(10):
            async for chunk in chunks:
                reading.raw += chunk
                if reading.pings >= 2:
                    break
        assert reading.frames == []


NASTY = "a\u2028b\u2029c\u0085d\re\nf\r\n\r\ng\tdata: x\u0000h"


async def test_odd_characters_cannot_break_the_frames(stage: Stage) -> None:
    """C095 and C169: separators are escaped, a NUL is replaced where it comes in, in every text."""
    mock = {"name": "lookup", "result": NASTY.replace("\u0000", "")}
    stage.play(
        Rule((Say(NASTY, reasoning=NASTY, chunks=(NASTY,)),), part="user"),
        Rule((CallTool("lookup", NASTY),), part="assistant", after_tool=False),
        Rule((Say(NASTY, reasoning=NASTY, chunks=(NASTY,)),), part="assistant"),
        Rule((opinion(0.95, NASTY),), part="judge"),
    )
    async with stage.worker():
        path = await stage.start(await stage.make_test(**PLAIN, tool_mocks=[mock]))
        live = await stage.recorded(path)
    text = bytes(live.raw).decode()
    assert all(line[:4] in ("id: ", "data", "") for line in text.splitlines())  # splits at all of them
    run = await stage.read(path)
    assert run["state"] == "succeeded"
    clean = NASTY.replace("\u0000", "\ufffd")
    user, calling, assistant, judge = run["conversation"]
    assert calling["tool_calls"][0]["arguments"] == clean
    assert calling["tool_results"][0]["content"] == mock["result"]
    assert assistant["content"] == assistant["reasoning"] == clean
    assert user["content"] == clean
    assert judge["content"] == clean
    assert told(live.frames) == told(await stage.events(path))


async def test_lone_surrogate_cannot_end_a_stream(stage: Stage) -> None:
    """C096: half a character in a frame of the llm's."""
    stage.play(Rule((opinion(0.95),), part="judge"))
    fields = {**PLAIN, "profile": "low"}
    gateway = await stage.http.post(
        "/api/v1/ai-gateways",
        json={"name": "Odd", "base_url": stage.llms.base_url, "model": "fault/surrogate-lone"},
    )
    slug = gateway.json()["data"]["slug"]
    async with stage.worker():
        path = await stage.start(await stage.make_test(**fields, gateway=slug))
        frames = await stage.events(path)
    assert_in_order(frames)
    assert told(frames) == told(await stage.events(path))


@pytest.mark.parametrize("score", ["NaN", "Infinity", "1e999"])
async def test_number_that_is_none_never_reaches_a_stream_or_a_row(stage: Stage, score: str) -> None:
    """C097 and C178: a judge's NaN is refused and asked for again."""
    bad = Say(f'{{"reasoning": "x", "score": {score}}}')
    stage.play(Rule((bad, opinion(0.95)), part="judge"))
    async with stage.worker():
        path = await stage.start(await stage.make_test(**PLAIN))
        frames = await stage.events(path)
    assert_in_order(frames)
    assert sum(frame.type == "unhandled_error" for frame in frames) == 1
    assert (await stage.read(path))["score"] == 0.95


async def test_events_are_the_owners_alone(stage: Stage, stranger: Tenant) -> None:
    path = await stage.start(await stage.make_test())
    for auth, status in ((stranger.auth, 404), (stage.tenant.public.auth, 403), ({"Authorization": ""}, 401)):
        answer = await stage.http.get(f"{path}/events", headers=auth)
        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/json"
