"""What is graded, and what it is graded by. Plain values: bounds are checked where they come in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question of a case, and what a good answer to it holds."""

    query: str
    expected: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that the judge of one answer gets.

    `criteria` holds what the customer wants, by its name; `questions` the main question and those that
    follow it. `turns`, `tool_calls` and `retrieved` are None where the agent did not tell them: nothing told
    means nothing, an empty list means that there was none.
    """

    questions: tuple[Asked, ...]
    answer: str
    guideline: str | None = None
    criteria: Mapping[str, str] = field(default_factory=dict)
    expected_tools: Mapping[str, Any] | None = None
    turns: tuple[Mapping[str, Any], ...] | None = None
    tool_calls: tuple[Mapping[str, Any], ...] | None = None
    retrieved: tuple[str, ...] | None = None
