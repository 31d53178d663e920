"""The real openai client is satisfied."""

import asyncio
from collections.abc import AsyncIterator

import openai
import pytest
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam
from pydantic import BaseModel

from parley.server.llm.demo import Call, CallTool, DemoServer, Html, Refuse, Rule, Say, Status

HELLO: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Hello"}]
TOOL: ChatCompletionToolParam = {
    "type": "function",
    "function": {
        "name": "lookup_order",
        "parameters": {"type": "object", "properties": {"order_number": {"type": "string"}}},
    },
}


class Opinion(BaseModel):
    reasoning: str
    score: float


@pytest.fixture
async def client(server: DemoServer) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=server.base_url, api_key="x", max_retries=0) as made:
        yield made


async def streamed_text(client: AsyncOpenAI, llm: str) -> str:
    stream = await client.chat.completions.create(model=llm, messages=HELLO, stream=True)
    return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])


async def test_plain_answer_has_text_usage_and_finish_reason(server: DemoServer, client: AsyncOpenAI) -> None:
    server.play(Rule((Say("Good day to you."),)))
    answer = await client.chat.completions.create(model="shop", messages=HELLO)
    assert answer.choices[0].message.content == "Good day to you."
    assert answer.choices[0].finish_reason == "stop"
    assert answer.model == "shop"
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0


async def test_stream_has_chunks_usage_and_one_finish_reason(server: DemoServer, client: AsyncOpenAI) -> None:
    server.play(Rule((Say("Good day to you.", chunks=("Good day", " to you.")),)))
    stream = await client.chat.completions.create(
        model="shop", messages=HELLO, stream=True, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in stream]
    choices = [chunk.choices[0] for chunk in chunks if chunk.choices]
    assert [choice.delta.content for choice in choices if choice.delta.content] == ["Good day", " to you."]
    assert [choice.finish_reason for choice in choices if choice.finish_reason] == ["stop"]
    assert [chunk.usage is not None for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert len({chunk.id for chunk in chunks}) == 1


async def test_streamed_and_plain_default_answers_are_the_same(client: AsyncOpenAI) -> None:
    for llm in ("user", "assistant", "judge"):
        plain = await client.chat.completions.create(model=llm, messages=HELLO)
        assert await streamed_text(client, llm) == plain.choices[0].message.content


async def test_tool_calls_are_assembled_by_the_client(server: DemoServer, client: AsyncOpenAI) -> None:
    call = CallTool("lookup_order", '{"order_number": "7"}', text="One moment.", also=(Call("other"),))
    server.play(Rule((call,)))
    async with client.chat.completions.stream(model="shop", messages=HELLO, tools=[TOOL]) as stream:
        message = (await stream.get_final_completion()).choices[0].message
    plain = (await client.chat.completions.create(model="shop", messages=HELLO)).choices[0].message
    for said in (message, plain):
        assert said.content == "One moment."
        functions = [one.function for one in said.tool_calls or [] if one.type == "function"]
        assert [(one.name, one.arguments) for one in functions] == [
            ("lookup_order", '{"order_number": "7"}'),
            ("other", "{}"),
        ]


async def test_forced_tool_is_called_with_fitting_arguments(client: AsyncOpenAI) -> None:
    answer = await client.chat.completions.create(
        model="shop", messages=HELLO, tools=[TOOL], tool_choice="required"
    )
    calls = answer.choices[0].message.tool_calls
    assert calls is not None
    assert calls[0].type == "function"
    assert "order_number" in calls[0].function.arguments


async def test_structured_output_is_parsed(client: AsyncOpenAI, server: DemoServer) -> None:
    server.configure(judge_score=0.25)
    answer = await client.chat.completions.parse(model="judge", messages=HELLO, response_format=Opinion)
    parsed = answer.choices[0].message.parsed
    assert parsed is not None
    assert parsed.score == 0.25
    assert parsed.reasoning


async def test_refusal_is_seen_as_refusal(server: DemoServer, client: AsyncOpenAI) -> None:
    server.play(Rule((Refuse("I cannot do that."),)))
    plain = await client.chat.completions.create(model="shop", messages=HELLO)
    async with client.chat.completions.stream(model="shop", messages=HELLO) as stream:
        final = await stream.get_final_completion()
    for answer in (plain, final):
        assert answer.choices[0].message.refusal == "I cannot do that."
        assert not answer.choices[0].message.content


async def test_llms_are_listed(client: AsyncOpenAI) -> None:
    names = {one.id for one in (await client.models.list()).data}
    assert {"demo-user", "demo-judge", "demo-shop", "fault/C065"} <= names


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (404, openai.NotFoundError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
    ],
)
async def test_statuses_become_the_clients_errors(
    server: DemoServer, client: AsyncOpenAI, status: int, error: type[openai.APIStatusError]
) -> None:
    server.play(Rule((Status(status, {"retry-after": "3"}),)))
    with pytest.raises(error) as raised:
        await client.chat.completions.create(model="shop", messages=HELLO, stream=True)
    assert raised.value.response.headers["retry-after"] == "3"
    assert str(status) in str(raised.value.body)


async def test_error_inside_a_stream_is_raised(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.APIError, match="error while processing"):
        await streamed_text(client, "fault/C065")


async def test_cut_stream_is_a_connection_error(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.APIConnectionError):
        await streamed_text(client, "fault/cut")


async def test_html_page_is_an_empty_stream_to_this_client(server: DemoServer, client: AsyncOpenAI) -> None:
    server.play(Rule((Html(),)))
    assert await streamed_text(client, "shop") == ""


async def test_bad_body_is_a_bad_request(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="at least one message"):
        await client.chat.completions.create(model="shop", messages=[])


async def test_many_at_once_each_get_their_own_answer(server: DemoServer, client: AsyncOpenAI) -> None:
    server.play(*(Rule((Say(f"I am {n}", gap_ms=1),), llm=f"shop-{n}") for n in range(40)))
    texts = await asyncio.gather(*(streamed_text(client, f"shop-{n}") for n in range(40)))
    assert texts == [f"I am {n}" for n in range(40)]
    assert (server.stats.answered, server.stats.open) == (40, 0)
