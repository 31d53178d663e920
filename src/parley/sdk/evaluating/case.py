"""What an agent is handed, and what it hands back."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

_LONGEST_KEY = 190
"""Characters; an idempotency key may have 200."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case to answer. What is expected of the answer is not here: an agent must not see it."""

    id: str
    index: int
    run_number: int
    query: str
    follow_ups: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What tells this case and repetition from all others of its run."""
        key = f"{self.id}/{self.run_number}"
        return key if len(key) <= _LONGEST_KEY else hashlib.sha256(key.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """An answer with what is known beside its text. The shapes are those of a batch of results.

    `turns` holds the conversation where the case has follow-ups, `tool_calls` feeds trajectory checks,
    `usage` takes `costUsd` and `totalTokens`. `duration_ms` replaces the time that was measured here.
    """

    text: str
    turns: Sequence[Mapping[str, Any]] = field(default_factory=list)
    tool_calls: Sequence[Mapping[str, Any]] = field(default_factory=list)
    retrieval_context: Sequence[str] = field(default_factory=list)
    usage: Mapping[str, Any] = field(default_factory=dict)
    duration_ms: float | None = None


Answered: TypeAlias = "str | Output"
Agent: TypeAlias = "Callable[[Case], Answered | Awaitable[Answered]]"
"""The agent under test. A plain function runs in a thread of its own, so that cases are answered at once."""
