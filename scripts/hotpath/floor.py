"""The floor: a bare aiohttp client that makes the calls of the conversation and nothing else."""

from __future__ import annotations

import json

import aiohttp
import uvloop

from scripts.hotpath.load import Load, measure, read_arguments
from scripts.hotpath.talk import ASSISTANT_LLM, JUDGE_LLM, USER_LLM, BareTalk, bench_spec


async def _call(session: aiohttp.ClientSession, url: str, body: dict[str, object]) -> str:
    words: list[str] = []
    tokens = 0
    async with session.post(url, json=body) as response:
        async for line in response.content:
            if line.startswith(b"data: ") and not line.startswith(b"data: [DONE]"):
                chunk = json.loads(line[6:])
                if chunk["choices"]:
                    content = chunk["choices"][0]["delta"].get("content")
                    if content:
                        words.append(content)
                if chunk.get("usage"):
                    tokens = chunk["usage"]["total_tokens"]
    assert words, "an answer without words"
    assert tokens, "an answer without usage"
    return "".join(words)


async def _run(base_url: str, load: Load) -> None:
    url = f"{base_url}/chat/completions"
    spec = bench_spec(load.turns)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def hold_one() -> None:
            talk = BareTalk(spec)
            for _ in range(load.turns):
                talk.heard("user", await _call(session, url, talk.body(USER_LLM)))
                talk.heard("assistant", await _call(session, url, talk.body(ASSISTANT_LLM)))
                await _call(session, url, talk.body(JUDGE_LLM))

        await measure(load, hold_one)


if __name__ == "__main__":
    uvloop.run(_run(*read_arguments()))
