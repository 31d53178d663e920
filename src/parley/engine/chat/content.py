"""The words in a message's content, whichever of the known shapes it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from parley.engine.messages import Reasoning, Refusal, Text

WordsKind: TypeAlias = type[Text] | type[Reasoning] | type[Refusal]

_KINDS: dict[Any, WordsKind] = {
    "text": Text,
    "output_text": Text,
    "thinking": Reasoning,
    "reasoning": Reasoning,
    "reasoning_content": Reasoning,
    "refusal": Refusal,
}
_TEXT_FIELDS = ("text", "thinking", "reasoning", "refusal", "summary", "content", "value")
_MAX_DEPTH = 4
"""Levels of lists and objects that are looked into; the deepest known shape has three."""


def words_of(content: Any, skipped: Callable[[str], None]) -> Iterator[tuple[WordsKind, str]]:
    """The words in `content`: a string, one part, or a list of parts.

    `skipped` is told the type of each part that holds no words for a reader.
    """
    for part in content if isinstance(content, list) else [content]:
        kind = _kind_of(part)
        if kind is None:
            skipped(_type_of(part))
        else:
            yield kind, flat_text(part)


def flat_text(value: Any, depth: int = 0) -> str:
    """All text in a string, a part, or a list of them; nothing for what holds none."""
    if isinstance(value, str):
        return value
    if depth == _MAX_DEPTH:
        return ""
    if isinstance(value, list):
        return "".join(flat_text(item, depth + 1) for item in value)
    if isinstance(value, dict):
        return next((text for name in _TEXT_FIELDS if (text := flat_text(value.get(name), depth + 1))), "")
    return ""


def _kind_of(part: Any) -> WordsKind | None:
    if isinstance(part, str):
        return Text
    if not isinstance(part, dict):
        return None
    declared = part.get("type", "text")
    return _KINDS.get(declared) if isinstance(declared, str) else None


def _type_of(part: Any) -> str:
    declared = part.get("type") if isinstance(part, dict) else None
    return declared if isinstance(declared, str) else type(part).__name__
