"""The engine alone: conversations over real connections, their events dropped."""

from __future__ import annotations

from contextlib import aclosing

import uvloop

from parley.engine.converse import converse
from parley.engine.events import Ended, Event
from parley.engine.fakes import OpenGuard
from parley.engine.ports import Parties
from parley.engine.tools import MockTools
from parley.server.conversation.hooks import NoHooks
from parley.server.kit.clock import SystemClock
from parley.server.llm.endpoint import LlmEndpoint
from parley.server.llm.pool import LlmPool, PoolLimits
from parley.server.outbound.guard import OutboundPolicy
from scripts.hotpath.load import Load, measure, read_arguments
from scripts.hotpath.talk import ASSISTANT_LLM, JUDGE_LLM, SYSTEM_INSTRUCTION, USER_LLM, bench_spec


def _parties(pool: LlmPool, base_url: str) -> Parties:
    gateway = LlmEndpoint(base_url=base_url, model=ASSISTANT_LLM, system_instruction=SYSTEM_INSTRUCTION)
    return Parties(
        user=pool.operator_speaker(LlmEndpoint(base_url=base_url, model=USER_LLM)),
        gateway=pool.customer_speaker(gateway),
        judge=pool.operator_speaker(LlmEndpoint(base_url=base_url, model=JUDGE_LLM)),
        guard=OpenGuard(),
        hooks=NoHooks(),
        tools=MockTools(()),
        clock=SystemClock(),
    )


async def _run(base_url: str, load: Load) -> None:
    spec = bench_spec(load.turns)
    pool = LlmPool(PoolLimits(), OutboundPolicy.of(["127.0.0.0/8"]))

    async def hold_one() -> None:
        last: Event | None = None
        async with aclosing(converse(spec, _parties(pool, base_url))) as events:
            async for event in events:
                last = event
        assert isinstance(last, Ended), "a conversation without an end"
        assert last.verdict, last
        assert last.verdict.turn_number == load.turns, last

    try:
        await measure(load, hold_one)
    finally:
        await pool.close()


if __name__ == "__main__":
    uvloop.run(_run(*read_arguments()))
