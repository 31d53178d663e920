"""An agent out of an OpenAI-style client: `chat_agent(client.chat.completions.create, model="...")`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from parley.engine.script.observation import Usage
from parley.sdk.evals.agents import Agent, Turn
from parley.sdk.evals.calling import call
from parley.sdk.evals.pause import Pause
from parley.sdk.evals.plain_data import jsonable
from parley.sdk.evals.recorded_tools import unrecorded
from parley.sdk.evals.recorder import record
from parley.sdk.evals.tool_schema import tool_schema

MAX_ROUNDS: Final = 8
"""Calls of the llm within one turn, tool rounds included; as in a conversation of the service."""
_TALK: Final = "chat_agent.messages"


@dataclass(frozen=True, slots=True)
class _Waiting:
    """What a pause leaves open: the calls of the round that still want an answer, the pausing one first."""

    calls: tuple[dict[str, Any], ...]


def chat_agent(
    create: Callable[..., Any],
    *,
    model: str,
    tools: Sequence[Callable[..., Any]] = (),
    system: str | None = None,
    max_rounds: int = MAX_ROUNDS,
    **options: Any,
) -> Agent:
    """An agent that holds the talk, runs tools and records them.

    `create` is the client's `chat.completions.create`, sync or async, called without streaming. `tools`
    are functions with typed parameters; their docstrings are what the llm reads. A tool may raise `Pause`:
    the agent then pauses, and the answer becomes the tool's result. `options` go into every request.
    """
    loop = _Loop(
        create, model, {_name(tool): unrecorded(tool) for tool in tools}, system, max_rounds, options
    )
    return loop.turn


def _name(tool: Callable[..., Any]) -> str:
    return str(getattr(tool, "__name__", type(tool).__name__))


class _Loop:
    def __init__(
        self,
        create: Callable[..., Any],
        model: str,
        tools: Mapping[str, Callable[..., Any]],
        system: str | None,
        max_rounds: int,
        options: Mapping[str, Any],
    ) -> None:
        self._create = create
        self._tools = tools
        self._system = system
        self._max_rounds = max_rounds
        self._request = {"model": model, **options}
        if tools:
            self._request["tools"] = [tool_schema(name, tool) for name, tool in tools.items()]

    async def turn(self, turn: Turn) -> Any:
        if turn.kind == "cancel":
            return None
        talk = turn.memory.setdefault(_TALK, self._beginning())
        if isinstance(turn.continuation, _Waiting) and turn.kind == "resume":
            note_answer(talk, turn.continuation.calls[0], turn.answer)
            paused = await self._answer_calls(talk, turn.continuation.calls[1:])
            if paused:
                return paused
        else:
            talk.append({"role": "user", "content": turn.text})
        return await self._rounds(talk)

    def _beginning(self) -> list[dict[str, Any]]:
        return [{"role": "system", "content": self._system}] if self._system else []

    async def _rounds(self, talk: list[dict[str, Any]]) -> Any:
        for _ in range(self._max_rounds):
            message = await self._ask(talk)
            talk.append(message)
            calls = tuple(message.get("tool_calls") or ())
            if not calls:
                return message.get("content") or ""
            paused = await self._answer_calls(talk, calls)
            if paused:
                return paused
        record.event("limit-reached", text=f"The agent asked its llm {self._max_rounds} times in one turn.")
        return ""

    async def _ask(self, talk: list[dict[str, Any]]) -> dict[str, Any]:
        answer = await call(lambda: self._create(**self._request, messages=list(talk)))
        completion = answer if isinstance(answer, Mapping) else answer.model_dump(exclude_none=True)
        _note_usage(completion)
        message = completion["choices"][0]["message"]
        kept = ("role", "content", "tool_calls", "refusal")
        return {name: message[name] for name in kept if message.get(name) is not None}

    async def _answer_calls(
        self, talk: list[dict[str, Any]], calls: Sequence[dict[str, Any]]
    ) -> Pause | None:
        """Run the tools in order; at a pause, what is left waits with it."""
        for index, one in enumerate(calls):
            try:
                result = await self._run_tool(one)
            except Pause as pause:
                pause.continuation = _Waiting(tuple(calls[index:]))
                return pause
            talk.append({"role": "tool", "tool_call_id": one["id"], "content": result})
        return None

    async def _run_tool(self, one: Mapping[str, Any]) -> str:
        name, written = one["function"]["name"], one["function"].get("arguments") or "{}"
        try:
            arguments = json.loads(written)
        except ValueError:
            arguments = written
        note = record.tool_call(name, arguments, call_id=one["id"])
        try:
            result = await self._called(name, arguments)
        except Pause:
            raise
        except Exception as error:
            # The llm is told, as it would be in production, and may find another way.
            note.error(error)
            return json.dumps({"error": f"{type(error).__name__}: {error}"}, ensure_ascii=False)
        note.result(result)
        return _written(result)

    async def _called(self, name: str, arguments: Any) -> Any:
        if name not in self._tools:
            raise LookupError(f"there is no tool {name}")
        if not isinstance(arguments, dict):
            raise ValueError("the arguments are no JSON object")
        return await call(_bound(self._tools[name], arguments))


def _bound(tool: Callable[..., Any], arguments: Mapping[str, Any]) -> Callable[[], Any]:
    return partial(tool, **arguments)


def note_answer(talk: list[dict[str, Any]], one: Mapping[str, Any], answer: Any) -> None:
    """The answer to a pause as the result of the tool call that paused."""
    record.event(
        "tool-call-result", tool_name=one["function"]["name"], call_id=one["id"], result=jsonable(answer)
    )
    talk.append({"role": "tool", "tool_call_id": one["id"], "content": _written(answer)})


def _written(result: Any) -> str:
    return result if isinstance(result, str) else json.dumps(jsonable(result), ensure_ascii=False)


def _note_usage(completion: Mapping[str, Any]) -> None:
    told = completion.get("usage") or {}
    record.usage(
        Usage(
            model=completion.get("model"),
            prompt_tokens=told.get("prompt_tokens"),
            completion_tokens=told.get("completion_tokens"),
        )
    )
