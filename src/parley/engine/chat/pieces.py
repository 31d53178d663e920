"""What a speaker gives: pieces of one attempt in order, closed by exactly one `Closing`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from parley.engine.messages import Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one attempt. Cached tokens are part of the prompt tokens.

    `model` is the name the provider gave for the llm; `estimated` marks numbers that we counted.
    """

    model: str
    prompt_tokens: int = 0
    cached_prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False


FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """The end of a complete attempt. `usage` is None where the provider sent none.

    `notes` names what was unusual, in words for the person who reads the run.
    """

    finish_reason: FinishReason
    model: str | None = None
    usage: Usage | None = None
    notes: tuple[str, ...] = ()


Piece: TypeAlias = Part | Closing
