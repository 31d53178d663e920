"""The demo's stories, played by the engine over the real transport."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from parley.engine.converse import converse
from parley.engine.events import (
    AssistantSpoke,
    Ended,
    Entry,
    Opened,
    Opinion,
    Shown,
    Spent,
    UserSpoke,
    Verdict,
)
from parley.engine.messages import Reasoning, ToolResult, joined
from parley.engine.ports import HookAnswer, Parties, Stop
from parley.engine.spec import Hook, Spec, ToolMock
from parley.engine.tools import MockTools
from parley.server.llm.demo import CallTool, DemoServer, Rule, Say, opinion
from parley.server.llm.demo.stories import (
    JUDGE_LLM,
    SHOP_LLM,
    STORIES,
    USER_LLM,
    definition_bodies,
    gateway_body,
)
from parley.server.llm.endpoint import LlmEndpoint, LlmSettings
from parley.server.llm.pool import LlmPool, PoolLimits
from parley.server.outbound.guard import OutboundPolicy


class Free:
    """No hooks, nothing that stops, the machine's own clock."""

    async def may_start_turn(self, turn: int) -> Stop | None:
        assert turn > 0
        return None

    def stopped(self) -> Stop | None:
        return None

    def on_stop(self, interrupt: Callable[[], None]) -> None:
        pass

    async def call(self, hook: Hook, index: int, turn: int, data: dict[str, Any]) -> HookAnswer:
        raise AssertionError(f"no hook is defined: {hook, index, turn, data}")

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def spec_of(body: dict[str, Any]) -> Spec:
    return Spec(
        goal=body["goal"],
        validation_criteria=body["validation_criteria"],
        seed=body["seed"],
        max_turns=body["max_turns"],
        tool_mocks=tuple(ToolMock(**mock) for mock in body["tool_mocks"]),
    )


async def played(
    server: DemoServer,
    body: dict[str, Any],
    user: str = USER_LLM,
    shop_llm: str = SHOP_LLM,
    judge: str = JUDGE_LLM,
) -> list[Entry]:
    pool = LlmPool(PoolLimits(connect_timeout_s=5.0), OutboundPolicy.of(networks=["127.0.0.0/8"]))
    shop = gateway_body(server.base_url)
    settings = LlmSettings(tools=tuple(shop["tools"]))
    instruction = shop["system_instruction"]
    free, spec = Free(), spec_of(body)
    parties = Parties(
        user=pool.operator_speaker(LlmEndpoint(base_url=server.base_url, model=user)),
        gateway=pool.customer_speaker(
            LlmEndpoint(
                base_url=server.base_url, model=shop_llm, settings=settings, system_instruction=instruction
            )
        ),
        judge=pool.operator_speaker(LlmEndpoint(base_url=server.base_url, model=judge)),
        guard=free,
        hooks=free,
        tools=MockTools(spec.tool_mocks),
        clock=free,
    )
    try:
        return [event async for event in converse(spec, parties) if not isinstance(event, Opened | Shown)]
    finally:
        await pool.close()


def verdict_of(entries: list[Entry]) -> Verdict:
    last = entries[-1]
    assert isinstance(last, Ended)
    assert last.verdict is not None
    return last.verdict


@pytest.mark.parametrize(
    ("place", "outcome", "reason", "turns"),
    [
        (0, "success", "baseline_reached", 3),
        (1, "loss", "loss_threshold_persisted", 4),
        (2, "incomplete", "max_turns_reached", 5),
    ],
    ids=["answers well", "drifts", "stalls"],
)
async def test_story_ends_as_told_and_wastes_no_attempt(
    server: DemoServer, place: int, outcome: str, reason: str, turns: int
) -> None:
    entries = await played(server, definition_bodies("shop")[place])
    verdict = verdict_of(entries)
    assert (verdict.outcome, verdict.reason, verdict.turn_number) == (outcome, reason, turns)
    assert not [entry for entry in entries if isinstance(entry, Spent)]
    scores = [float(entry.score) for entry in entries if isinstance(entry, Opinion)]
    assert scores == [exchange.score for exchange in STORIES[place].exchanges]
    assert any(
        isinstance(part, Reasoning)
        for entry in entries
        if isinstance(entry, UserSpoke)
        for part in entry.parts
    )


async def test_order_is_looked_up_and_the_mock_answers(server: DemoServer) -> None:
    entries = await played(server, definition_bodies("shop")[0])
    rounds = [entry for entry in entries if isinstance(entry, AssistantSpoke) and entry.turn == 2]
    results = [part for part in rounds[0].parts if isinstance(part, ToolResult)]
    assert len(rounds) == 2
    assert "Trailhead" in results[0].content


async def test_conversation_off_the_stories_runs_to_its_last_turn(server: DemoServer) -> None:
    body = {**definition_bodies("shop")[2], "goal": "Find out whether the shop sells kites.", "max_turns": 6}
    verdict = verdict_of(await played(server, body))
    assert (verdict.outcome, verdict.turn_number) == ("incomplete", 6)


async def test_scripts_turn_is_the_conversations_turn_for_all_three_parts(server: DemoServer) -> None:
    server.play(
        Rule((Say("This is my second message."),), part="user", turn=2),
        Rule(
            (CallTool("lookup_order", '{"order_number": "1"}'),), part="assistant", turn=2, after_tool=False
        ),
        Rule((Say("This is my second answer."),), part="assistant", turn=2),
        Rule((opinion(0.7),), part="judge", turn=2),
        Rule((opinion(0.95),), part="judge", turn=3),
    )
    entries = await played(server, definition_bodies("shop")[1], "a-user", "a-shop", "a-judge")
    users = [joined(entry.parts, "content") for entry in entries if isinstance(entry, UserSpoke)]
    answers = [joined(entry.parts, "content") for entry in entries if isinstance(entry, AssistantSpoke)]
    assert users[1] == "This is my second message."
    assert answers[1:3] == ["", "This is my second answer."]
    assert [float(entry.score) for entry in entries if isinstance(entry, Opinion)] == [0.5, 0.7, 0.95]
    assert verdict_of(entries).turn_number == 3
