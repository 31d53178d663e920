"""The conversation that everything measured here holds: three streamed calls a turn, to its last turn."""

from __future__ import annotations

import json
from typing import Any

from parley.engine.judging.prompt import OPINION_SCHEMA, judge_messages
from parley.engine.simulator.prompt import user_messages
from parley.engine.spec import Spec
from parley.server.llm.demo.behaviours import Say
from parley.server.llm.demo.script import Rule, script_json

CALLS_PER_TURN = 3
CHUNKS_PER_CALL = 20
USER_LLM, ASSISTANT_LLM, JUDGE_LLM = "bench-user", "bench-assistant", "bench-judge"
"""The scripted server tells the part from the name; its judge neither ends nor loses the conversation."""

GOAL = "Find out whether the second option fits this week, and what its delivery costs."
CRITERIA = "The assistant names the delivery time and the conditions for returning the goods."
SYSTEM_INSTRUCTION = "You are the helpful assistant of a shop. Answer in two or three sentences."


def bench_spec(turns: int) -> Spec:
    """A conversation of exactly `turns` turns: nobody leaves, and no score ends it."""
    return Spec(goal=GOAL, validation_criteria=CRITERIA, seed=7, max_turns=turns, minimum_turns=turns + 1)


class BareTalk:
    """The same requests as ours, as small and as large, kept by plain lists and string joins."""

    def __init__(self, spec: Spec) -> None:
        self._user_system = str(user_messages(spec, (), 1, False, None)[0].content)
        judge_system, judge_words = judge_messages(spec, (), 1, None)
        self._judge_system = str(judge_system.content)
        before, _, after = str(judge_words.content).partition("# Transcript\n")
        self._judge_frame = (f"{before}# Transcript\n", after)
        self._said: list[tuple[str, str]] = []

    def heard(self, role: str, words: str) -> None:
        """Note what was said."""
        self._said.append((role, words))

    def body(self, llm: str) -> dict[str, Any]:
        """The body of the next call to `llm`."""
        body: dict[str, Any] = {
            "model": llm,
            "stream": True,
            "stream_options": {"include_usage": True},
            "messages": self._messages(llm),
        }
        if llm == JUDGE_LLM:
            schema = {"name": "answer", "strict": True, "schema": OPINION_SCHEMA}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def _messages(self, llm: str) -> list[dict[str, str]]:
        if llm == USER_LLM:
            swapped = {"user": "assistant", "assistant": "user"}
            lines = [{"role": swapped[role], "content": words} for role, words in self._said]
            opening = {"role": "user", "content": "(You are connected. Write your first message.)"}
            return [{"role": "system", "content": self._user_system}, opening, *lines]
        if llm == ASSISTANT_LLM:
            lines = [{"role": role, "content": words} for role, words in self._said]
            return [{"role": "system", "content": SYSTEM_INSTRUCTION}, *lines]
        before, after = self._judge_frame
        told = (
            json.dumps({"turn": place // 2 + 1, "from": role, "text": words})
            for place, (role, words) in enumerate(self._said)
        )
        words = before + "\n".join(told) + after
        return [{"role": "system", "content": self._judge_system}, {"role": "user", "content": words}]


_WORDS = [
    "could",
    "you",
    "please",
    "explain",
    "a",
    "little",
    "more",
    "about",
    "the",
    "second",
    "option",
    "since",
    "it",
    "sounds",
    "close",
    "to",
    "what",
    "we",
    "need",
    "this",
    "week",
    "and",
    "we",
    "would",
    "also",
    "like",
    "to",
    "know",
    "about",
    "delivery",
    "costs",
    "opening",
    "hours",
    "and",
    "colours",
    "before",
    "then",
]


def user_script(turns: int) -> bytes:
    """What the scripted user says, for `POST /control/script`: another message of 20 chunks each turn.

    Its unscripted words come round again after a few turns, and the engine asks for a repeat anew.
    """
    return script_json(*(Rule((_said_at(turn),), llm=USER_LLM, turn=turn) for turn in range(1, turns + 1)))


def _said_at(turn: int) -> Say:
    words = [f" {_WORDS[(turn * 7 + place) % len(_WORDS)]}" for place in range(CHUNKS_PER_CALL - 2)]
    pieces = (f"Question {turn}", ":", *words)
    return Say("".join(pieces), chunks=pieces)
