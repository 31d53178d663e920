"""Asks the agent, and makes a result of whatever comes of it."""

from __future__ import annotations

import asyncio
import inspect
import time
from typing import Any

from parley.sdk.evaluating.case import Agent, Answered, Case, Output
from parley.sdk.evaluating.threads import in_thread

_LONGEST_MESSAGE = 2_000
"""Characters of an agent's error that are worth keeping."""


async def result_of(agent: Agent, case: Case, timeout_s: float | None) -> dict[str, Any]:
    """The result of a case, as it is posted. An agent that raises has failed the case, not the evaluation."""
    began_s = time.perf_counter()
    try:
        async with asyncio.timeout(timeout_s):
            answered = await _answer(agent, case)
        said = _told(answered)
    except Exception as error:
        said = {"error": _fault(error, timeout_s)}
    took_ms = round((time.perf_counter() - began_s) * 1000, 3)
    identity = {"idempotencyKey": case.key, "caseId": case.id, "runNumber": case.run_number}
    return {**identity, "timings": {"durationMs": round(took_ms)}, **said}


async def _answer(agent: Agent, case: Case) -> Any:
    """What the agent says. A plain function has a thread of its own; it may also give an awaitable."""
    answered = agent(case) if _is_async(agent) else await in_thread(lambda: agent(case))
    return await answered if inspect.isawaitable(answered) else answered


def _is_async(agent: Agent) -> bool:
    return inspect.iscoroutinefunction(agent) or inspect.iscoroutinefunction(type(agent).__call__)


def _told(answered: Answered) -> dict[str, Any]:
    """The fields of an answer. Raises `TypeError` for what is none."""
    if isinstance(answered, str):
        return {"output": {"text": answered}}
    if not isinstance(answered, Output):
        raise TypeError(f"the agent has to return text or an Output, not {type(answered).__name__}")
    known = {
        "turns": list(answered.turns),
        "toolCalls": list(answered.tool_calls),
        "retrievalContext": list(answered.retrieval_context),
        "usage": dict(answered.usage),
        "timings": {} if answered.duration_ms is None else {"durationMs": round(answered.duration_ms)},
    }
    return {"output": {"text": answered.text}} | {name: value for name, value in known.items() if value}


def _fault(error: Exception, timeout_s: float | None) -> dict[str, str]:
    if isinstance(error, TimeoutError) and timeout_s is not None and not str(error):
        return {"type": "TimeoutError", "message": f"no answer within {timeout_s:g} s"}
    message = str(error).strip()[:_LONGEST_MESSAGE] or type(error).__name__
    return {"type": type(error).__name__, "message": message}
