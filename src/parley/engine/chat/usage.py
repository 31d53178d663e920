"""Tokens of one attempt: what the provider reported, checked, or an estimate."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from parley.engine.chat.pieces import Usage
from parley.engine.messages import Message, Part, ToolCall, ToolResult

CHARS_PER_TOKEN = 4
"""The usual rule for English; it is too low for scripts that need a token or more per character."""
MAX_TOKENS = 1_000_000_000
"""More tokens than any llm takes: a larger number is a fault of the provider and is not charged."""
_DIGITS = re.compile("[0-9]{1,10}")


def read_usage(raw: Any, model: str, note: Callable[[str], None]) -> Usage | None:
    """The usage object of a chunk, or None where it has no usable numbers; `note` is told why.

    Whole numbers count, also as strings. Prompt and completion must both be there: a half report
    would charge the other half as zero. Zero of both is what gateways send that do not count.
    """
    if not isinstance(raw, dict):
        note("usage that is not an object was ignored")
        return None
    prompt = _tokens(_first(raw, "prompt_tokens", "input_tokens"))
    completion = _tokens(_first(raw, "completion_tokens", "output_tokens"))
    if prompt is None or completion is None:
        note("usage without whole, positive numbers of tokens was ignored")
        return None
    if prompt == completion == 0:
        note("usage of zero tokens was ignored")
        return None
    cached = _cached_tokens(raw, note)
    if cached > prompt:
        note("more cached tokens than prompt tokens were reported; all of the prompt counts as cached")
    return Usage(
        model=model,
        prompt_tokens=prompt,
        cached_prompt_tokens=min(cached, prompt),
        completion_tokens=completion,
    )


def usage_of(
    reported: Usage | None, *, model: str, messages: Sequence[Message], parts: Sequence[Part]
) -> Usage:
    """What an attempt used: as reported, else estimated from what was sent and what came back.

    Not for an attempt without a piece, which costs nothing.
    """
    if reported is not None:
        return reported
    return Usage(
        model=model,
        prompt_tokens=_estimate(sum(map(_message_chars, messages))),
        completion_tokens=_estimate(sum(map(_part_chars, parts))),
        estimated=True,
    )


def _estimate(chars: int) -> int:
    return -(-chars // CHARS_PER_TOKEN)


def _message_chars(message: Message) -> int:
    return len(message.text) + sum(map(_part_chars, message.tool_calls))


def _part_chars(part: Part) -> int:
    """Characters the llm wrote; a streamed result is the gateway's tool's, not the llm's."""
    if isinstance(part, ToolCall):
        return len(part.name) + len(part.arguments)
    return 0 if isinstance(part, ToolResult) else len(part.text)


def _cached_tokens(raw: dict[str, Any], note: Callable[[str], None]) -> int:
    value = _first(raw, "cached_tokens", "prompt_cache_hit_tokens")
    details = _first(raw, "prompt_tokens_details", "input_tokens_details")
    if value is None and isinstance(details, dict):
        value = details.get("cached_tokens")
    if value is None:
        return 0
    tokens = _tokens(value)
    if tokens is None:
        note("a number of cached tokens that is not whole and positive was ignored")
    return tokens or 0


def _first(raw: dict[str, Any], *names: str) -> Any:
    for name in names:
        if (value := raw.get(name)) is not None:
            return value
    return None


def _tokens(value: Any) -> int | None:
    """A count of tokens, 0 to `MAX_TOKENS`; None for anything else."""
    if (isinstance(value, str) and _DIGITS.fullmatch(value)) or (
        isinstance(value, float) and value.is_integer()
    ):
        value = int(value)
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS
    return value if is_count else None
