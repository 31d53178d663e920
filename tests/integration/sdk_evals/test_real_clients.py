"""Evals over real sockets: the openai package as the agent's client, an endpoint like theirs as judge."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from aiohttp import web

from parley.sdk.evals import Evals, Limits, LlmJudge, Pause, RunRecord, chat_agent
from parley.sdk.retries import RetryPolicy


class Endpoint:
    """Plays the agent's llm and the judge's, told apart by their models."""

    def __init__(self) -> None:
        self.url = ""
        self.judge_left = asyncio.Event()
        self.judge_hangs = False
        self.judge_says: Any = {"passed": True, "reason": "It says so.", "evidence": ["Friday"]}

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        if body["model"] == "judge":
            return await self._judge()
        return web.json_response(_completion(_reply(body["messages"])))

    async def _judge(self) -> web.Response:
        try:
            if self.judge_hangs:
                await asyncio.Event().wait()
            said = self.judge_says
            content = said if isinstance(said, str) else json.dumps(said)
            return web.json_response(_completion({"role": "assistant", "content": content}))
        finally:
            self.judge_left.set()


def _completion(message: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted-1",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }


def _reply(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Calls the tool that the user names, and tells what it gave."""
    last = messages[-1]
    if last["role"] == "tool":
        return {"role": "assistant", "content": f"I was told {last['content']}."}
    name = "refund" if "Refund" in last["content"] else "find_order"
    function = {"name": name, "arguments": '{"number": 17}'}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    playing = Endpoint()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", playing.answer)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    playing.url = f"http://127.0.0.1:{port}/v1"
    yield playing
    await runner.cleanup()


def find_order(number: int) -> dict[str, Any]:
    """Find an order."""
    return {"number": number, "arrives": "Friday"}


def refund(number: int) -> str:
    """Refund an order."""
    raise Pause(kind="choice", question=f"Refund {number}?", options=["yes", "no"])


SUITE: dict[str, Any] = {
    "id": "shop",
    "cases": [
        {
            "id": "order",
            "steps": [
                {
                    "message": "Where is order 17?",
                    "expect": {
                        "type": "answer",
                        "tools": [{"name": "find_order", "arguments": {"number": 17}}],
                        "criteria": ["Says when it arrives."],
                    },
                },
                {"message": "Refund it.", "expect": {"type": "interrupt", "tools": [{"name": "refund"}]}},
                {
                    "resume": {"type": "select", "ids": ["yes"]},
                    "expect": {"type": "answer", "text": {"contains": ["yes"]}},
                },
            ],
        }
    ],
}


def evals(endpoint: Endpoint, client: Any, **fields: Any) -> Evals:
    return Evals(
        agent=chat_agent(client.chat.completions.create, model="agent", tools=[find_order, refund]),
        suites=[SUITE],
        judge=LlmJudge(endpoint.url, "judge", retries=RetryPolicy(retries=0)),
        **fields,
    )


def codes(record: RunRecord) -> list[str]:
    return [error.code for attempt in record.attempts for error in attempt.errors]


async def test_async_client_with_tools_a_pause_and_a_judge(endpoint: Endpoint) -> None:
    async with openai.AsyncOpenAI(base_url=endpoint.url, api_key="k", max_retries=0) as client:
        record = await evals(endpoint, client).run(repetitions=3, concurrency=3)
    assert record.status == "passed", record.wire()
    attempt = record.attempts[0]
    assert attempt.usage is not None
    assert (attempt.usage.model, attempt.usage.prompt_tokens) == ("scripted-1", 28)
    assert attempt.judge_usage is not None
    assert attempt.judge_usage.completion_tokens == 3
    assert attempt.steps[0].criteria[0].quotes[0].found


async def test_sync_client_runs_beside_the_loop(endpoint: Endpoint) -> None:
    client = openai.OpenAI(base_url=endpoint.url, api_key="k", max_retries=0)
    try:
        record = await evals(endpoint, client).run(repetitions=2, concurrency=2)
    finally:
        client.close()
    assert record.status == "passed", record.wire()


async def test_judge_that_answers_nonsense_is_an_error(endpoint: Endpoint) -> None:
    endpoint.judge_says = "It looks good to me!"
    async with openai.AsyncOpenAI(base_url=endpoint.url, api_key="k", max_retries=0) as client:
        record = await evals(endpoint, client).run()
    assert (record.status, codes(record)) == ("error", ["judge_unreadable"])


async def test_deadline_reaches_the_judge_s_socket(endpoint: Endpoint) -> None:
    endpoint.judge_hangs = True
    async with openai.AsyncOpenAI(base_url=endpoint.url, api_key="k", max_retries=0) as client:
        record = await evals(endpoint, client, limits=Limits(judge_s=1)).run()
    assert (record.status, codes(record)) == ("error", ["judge_overdue"])
    async with asyncio.timeout(5):
        await endpoint.judge_left.wait()


async def test_endpoint_that_is_not_there_is_an_error_of_the_app(endpoint: Endpoint) -> None:
    async with openai.AsyncOpenAI(base_url="http://127.0.0.1:9/v1", api_key="k", max_retries=0) as client:
        record = await evals(endpoint, client).run()
    assert (record.status, codes(record)) == ("error", ["app_error"])
    assert "APIConnectionError" in record.attempts[0].errors[0].message
