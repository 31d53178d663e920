"""A run as its readers see it: made from its row and its entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from parley.engine.chat.pieces import Usage
from parley.engine.events import AssistantSpoke, Entry, Opinion, Spent, Timing, UserSpoke
from parley.engine.messages import ToolCall, ToolResult, joined
from parley.server.conversation.narrate import opinion_result
from parley.server.db.tables.runs import Run
from parley.server.runs.schemas import (
    AssistantItem,
    ItemUsage,
    JudgeItem,
    OpinionDetail,
    RunDetail,
    RunError,
    RunSummary,
    SaidToolCall,
    SaidToolResult,
    SpentAttempt,
    UserItem,
)


@dataclass(frozen=True, slots=True)
class Kept:
    """One entry with its place and its cost."""

    seq: int
    entry: Entry
    cost: Decimal


def summary(run: Run) -> RunSummary:
    """The run in a list."""
    return RunSummary.model_validate(_facts(run))


def detail(run: Run, kept: Sequence[Kept]) -> RunDetail:
    """The run with all that was said."""
    return RunDetail.model_validate(
        {
            **_facts(run),
            "test_name": run.definition["fields"].get("name", ""),
            "definition": run.definition,
            "result": run.result,
            "conversation": [item for line in kept if (item := _item(line))],
            "attempts": [_spent(line, line.entry) for line in kept if isinstance(line.entry, Spent)],
        }
    )


def _facts(run: Run) -> dict[str, object]:
    return {
        "id": run.id,
        "test_id": run.test_id,
        "state": run.state,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "outcome": run.outcome,
        "score": None if run.score is None else float(run.score),
        "cost": run.cost,
        "error": RunError.model_validate(run.error) if run.error else None,
        "external_user_id": run.external_user_id,
        "trigger": run.trigger,
        "revision": run.revision,
        "seed": run.seed,
    }


def _item(line: Kept) -> UserItem | AssistantItem | JudgeItem | None:
    match line.entry:
        case UserSpoke() as user:
            return UserItem(
                role="user",
                content=joined(user.parts, "content"),
                reasoning=joined(user.parts, "reasoning"),
                exited=user.exited,
                **_shared(line, user.turn, user.usage, user.timing, user.notes),
            )
        case AssistantSpoke() as answer:
            return _assistant(line, answer)
        case Opinion() as opinion:
            return JudgeItem(
                role="judge",
                content=opinion.reasoning,
                opinion=OpinionDetail.model_validate(opinion_result(opinion)),
                **_shared(line, opinion.turn, opinion.usage, opinion.timing, opinion.notes),
            )
        case _:
            return None


def _assistant(line: Kept, answer: AssistantSpoke) -> AssistantItem:
    calls = [part for part in answer.parts if isinstance(part, ToolCall)]
    results = [part for part in answer.parts if isinstance(part, ToolResult)]
    return AssistantItem(
        role="assistant",
        round=answer.round,
        content=joined(answer.parts, "content"),
        reasoning=joined(answer.parts, "reasoning"),
        refusal=joined(answer.parts, "refusal"),
        tool_calls=[SaidToolCall.model_validate(call) for call in calls],
        tool_results=[SaidToolResult.model_validate(result) for result in results],
        truncated=answer.truncated,
        **_shared(line, answer.turn, answer.usage, answer.timing, answer.notes),
    )


def _shared(line: Kept, turn: int, usage: Usage, timing: Timing, notes: Sequence[str]) -> dict[str, Any]:
    return {
        "seq": line.seq,
        "turn": turn,
        "timestamp": _moment(timing.at_ms),
        "usage": _usage(usage, line.cost),
        "took_ms": timing.took_ms,
        "first_piece_ms": timing.first_piece_ms,
        "notes": list(notes),
    }


def _spent(line: Kept, spent: Spent) -> SpentAttempt:
    return SpentAttempt(
        seq=line.seq,
        timestamp=_moment(spent.at_ms),
        role=spent.role,
        turn=spent.turn,
        attempt=spent.attempt,
        reason=spent.reason,
        code=spent.code,
        error=spent.error,
        will_retry=spent.will_retry,
        status=spent.status,
        usage=_usage(spent.usage, line.cost) if spent.usage else None,
    )


def _usage(usage: Usage, cost: Decimal) -> ItemUsage:
    return ItemUsage(
        model=usage.model,
        prompt_tokens=usage.prompt_tokens,
        cached_prompt_tokens=usage.cached_prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cost=cost,
        estimated=usage.estimated,
    )


def _moment(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)
