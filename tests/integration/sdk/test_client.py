"""The SDK's clients against the real service."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from parley.sdk import AsyncClient, Client
from parley.sdk.errors import BalanceExhausted, InvalidRequest, KeyRefused, NotFound, TooManyRequests
from parley.sdk.events import Content, Ended, Event, Failed, Opinion, Unknown
from parley.sdk.retries import RetryPolicy
from parley.server.llm.demo import Rule, Say, opinion
from tests.factories.accounts import make_tenant
from tests.stage import Stage
from tests.stories_told import eventful

FIELDS: dict[str, Any] = {"profile": "low", "max_turns": 3, "seed": 7}


async def test_every_event_of_an_eventful_run_is_typed(stage: Stage, sdk: AsyncClient) -> None:
    stage.play(*eventful())
    async with stage.worker():
        test_id = await stage.make_test(**FIELDS)
        run = await sdk.runs.start(test_id)
        events = [event async for event in sdk.runs.events(test_id, run.id)]
    assert [event for event in events if isinstance(event.data, Unknown)] == []
    assert [event.is_last for event in events].count(True) == 1
    assert isinstance(events[-1].data, Ended)
    ended = await sdk.runs.get(test_id, run.id)
    assert (ended.outcome, ended.is_over) == (events[-1].data.outcome, True)
    assert ended.duration_s is not None
    assert sum(isinstance(event.data, Opinion) for event in events) >= 1


async def test_a_stream_goes_on_behind_any_event(stage: Stage, sdk: AsyncClient) -> None:
    async with stage.worker():
        test_id = await stage.make_test(**FIELDS)
        run = await sdk.runs.start(test_id)
        whole = [event async for event in sdk.runs.events(test_id, run.id)]
    for place in (0, len(whole) // 2, len(whole) - 2):
        resumed = sdk.runs.events(test_id, run.id, last_event_id=whole[place].id)
        rest = [event async for event in resumed]
        assert told(rest) == told(whole[place + 1 :])


def told(events: list[Event]) -> list[object]:
    """What events tell; words are put together, for a later reader gets fewer and longer pieces."""
    story: list[Any] = []
    for event in events:
        if isinstance(event.data, Content) and story and isinstance(story[-1], Content):
            story[-1] = Content(event.data.role, story[-1].text + event.data.text)
        else:
            story.append(event.data)
    return story


async def test_the_blocking_client_does_the_same(stage: Stage) -> None:
    stage.play(Rule((opinion(0.95),), part="judge"))

    def whole_run(test_id: str) -> tuple[str | None, list[Event]]:
        with Client(stage.url, stage.tenant.private.token) as client:
            run = client.runs.start(test_id)
            events = list(client.runs.events(test_id, run.id))
            return client.runs.get(test_id, run.id).outcome, events

    async with stage.worker():
        outcome, events = await asyncio.to_thread(whole_run, await stage.make_test(**FIELDS))
    assert outcome == "success"
    assert events[-1].is_last


async def test_one_idempotency_key_is_one_run(stage: Stage, sdk: AsyncClient) -> None:
    test_id = await stage.make_test(**FIELDS)
    first, second = [await sdk.runs.start(test_id, idempotency_key="once") for _ in range(2)]
    assert first.id == second.id
    assert (await sdk.runs.start(test_id)).id != first.id


async def test_a_cancelled_run_ends_with_an_error_that_is_not_tried_again(
    stage: Stage, sdk: AsyncClient
) -> None:
    test_id = await stage.make_test(**FIELDS)
    run = await sdk.runs.start(test_id)
    assert (await sdk.runs.cancel(test_id, run.id)).state == "cancelled"
    *_, last = [event async for event in sdk.runs.events(test_id, run.id)]
    assert isinstance(last.data, Failed)
    assert last.data.code == "cancelled"


async def test_a_direct_conversation_is_told_with_nothing_stored(stage: Stage, sdk: AsyncClient) -> None:
    stage.play(Rule((Say("Of course."),), part="assistant"))
    body = {"model": stage.gateway["slug"], "goal": "Find out.", "profile": "low", "max_turns": 2}
    events = [event async for event in sdk.runs.direct(body)]
    said = "".join(
        one.data.text for one in events if isinstance(one.data, Content) and one.data.role == "assistant"
    )
    assert "Of course." in said
    assert events[-1].is_last


async def test_refusals_are_the_services_own(stage: Stage, sdk: AsyncClient) -> None:
    with pytest.raises(InvalidRequest, match="max_turns"):
        await sdk.tests.create({"name": "x", "gateway": stage.gateway["slug"], "goal": "y", "max_turns": 99})
    with pytest.raises(NotFound):
        await sdk.tests.get("0199f0c4-0000-7000-8000-000000000000")
    async with AsyncClient(stage.url, "sk-par-nobody") as stranger:
        with pytest.raises(KeyRefused, match="PARLEY_API_KEY"):
            await stranger.account.whoami()


async def test_an_account_without_money_is_told(stage: Stage) -> None:
    poor = await make_tenant(stage.services.database, "Poor", credit=Decimal(0))
    async with AsyncClient(stage.url, poor.private.token) as client:
        gateway = await client.gateways.create({"name": "G", "base_url": stage.llms.base_url, "model": "a"})
        test = await client.tests.create({"name": "T", "gateway": gateway.slug, "goal": "G"})
        with pytest.raises(BalanceExhausted, match="add credit"):
            await client.runs.start(test.id)
        assert (await client.account.balance()).balance == 0


async def test_the_quota_says_when_to_come_back(stage: Stage) -> None:
    free = await make_tenant(stage.services.database, "Free", plan="free")
    hasty = RetryPolicy(longest_asked_s=0.5)
    async with AsyncClient(stage.url, free.private.token, retries=hasty) as client:
        gateway = await client.gateways.create({"name": "G", "base_url": stage.llms.base_url, "model": "a"})
        test = await client.tests.create({"name": "T", "gateway": gateway.slug, "goal": "G"})
        for _ in range(5):
            await client.runs.start(test.id)
        with pytest.raises(TooManyRequests) as refused:
            await client.runs.start(test.id)
    assert refused.value.code == "quota_exhausted"
    assert refused.value.retry_after_s is not None
    assert 0 < refused.value.retry_after_s <= 60


async def test_lists_come_whole_over_pages(stage: Stage, sdk: AsyncClient) -> None:
    made = [await stage.make_test(name=f"Test {n}") for n in range(5)]
    found = [test.id async for test in sdk.tests.list(limit=2)]
    assert found == made[::-1]
    assert [test.id async for test in sdk.tests.list(search="test 3")] == [made[3]]
    limits = await sdk.account.limits()
    assert limits.plan == "max"
