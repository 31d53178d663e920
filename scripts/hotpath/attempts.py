"""Scripted suites in process: what the runner adds to an agent and a judge that do next to nothing."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from parley.engine.script.progress import Progress
from parley.sdk.evals import Evals, Turn, record
from scripts.hotpath.meter import OwnMeter, Spending, tell

ATTEMPTS, AT_ONCE, STEPS, CRITERIA = 100, 20, 10, 2
"""Product issue, "Done when": 100 attempts at concurrency 20. Ten steps let the history grow."""
_CALL_S = 0.005
_ANSWER = "Order 17 was refunded; the money arrives within five working days. " * 8


async def _agent(_turn: Turn) -> str:
    """One call: a tool with a result of 20 rows, a structured output, and some words."""
    await asyncio.sleep(_CALL_S)
    with record.tool("find_order", id=17) as call:
        call.result([{"id": number, "state": "paid", "total": "12.50"} for number in range(20)])
    record.output({"order": 17, "amount": "12.50"}, schema_id="refund.receipt")
    return _ANSWER


class _Judge:
    id = "trivial"

    async def grade(self, _request: Any, _problem: str | None) -> dict[str, Any]:
        await asyncio.sleep(_CALL_S)
        return {"passed": True, "reason": "It says so.", "evidence": ["within five working days"]}


def _suite() -> dict[str, Any]:
    step = {
        "message": "Refund order 17, please.",
        "expect": {
            "type": "answer",
            "text": {"contains": ["17"]},
            "tools": [{"name": "find_order", "arguments": {"id": 17}}],
            "outputs": [{"schemaId": "refund.receipt"}],
            "criteria": [f"Says when the money arrives, way {number}." for number in range(CRITERIA)],
        },
    }
    return {"id": "bench", "cases": [{"id": "refund", "steps": [step] * STEPS, "repetitions": ATTEMPTS}]}


async def _bare() -> None:
    """The calls alone: as many, as many at once, in the same order."""
    judge, left = _Judge(), ATTEMPTS

    async def slot() -> None:
        nonlocal left
        while left:
            left -= 1
            for _ in range(STEPS):
                turn = Turn(kind="message", text="", session_id="", messages=[], memory={})
                await _agent(turn)
                await asyncio.gather(*(judge.grade(None, None) for _ in range(CRITERIA)))

    await asyncio.gather(*(slot() for _ in range(AT_ONCE)))


async def _whole() -> None:
    evals, heard = Evals(agent=_agent, suites=[_suite()], judge=_Judge()), 0

    def hear(_event: Progress) -> None:
        nonlocal heard
        heard += 1

    run = await evals.run(concurrency=AT_ONCE, on_progress=hear)
    assert run.counts.passed == ATTEMPTS, run.counts
    assert sum(len(attempt.steps) for attempt in run.attempts) == ATTEMPTS * STEPS
    assert heard > ATTEMPTS * STEPS, "a listener that heard too little"


async def _measured(what: Callable[[], Awaitable[None]]) -> Spending:
    with OwnMeter() as meter:
        await what()
    return meter.spending


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("bare", "whole"))
    tell(asyncio.run(_measured(_bare if parser.parse_args().what == "bare" else _whole)))
