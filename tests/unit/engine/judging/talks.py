"""Conversations as the engine keeps them."""

from __future__ import annotations

from parley.engine.chat.pieces import Usage
from parley.engine.events import AssistantSpoke, Timing, UserSpoke
from parley.engine.messages import Reasoning, Text, ToolCall, ToolResult, Words
from parley.engine.talk import Exchange

USAGE = Usage(model="llm")
TIMING = Timing(at_ms=0, took_ms=0)


def said(turn: int, text: str, *, exited: bool = False, thought: str = "") -> UserSpoke:
    """A message of the simulated user; without `text` it only leaves."""
    words = (Text(text=text),) if text else ()
    thoughts = (Reasoning(text=thought),) if thought else ()
    return UserSpoke(turn=turn, parts=(*thoughts, *words), usage=USAGE, timing=TIMING, exited=exited)


def answered(
    turn: int, *parts: str | Words | ToolCall | ToolResult, truncated: bool = False, round: int = 1
) -> AssistantSpoke:
    """One round of the gateway's answer; plain strings are its words."""
    return AssistantSpoke(
        turn=turn,
        round=round,
        parts=tuple(Text(text=part) if isinstance(part, str) else part for part in parts),
        usage=USAGE,
        timing=TIMING,
        truncated=truncated,
    )


def exchange(turn: int, user: str | UserSpoke | None, *rounds: str | AssistantSpoke) -> Exchange:
    """One turn; plain strings are words."""
    return Exchange(
        turn=turn,
        user=said(turn, user) if isinstance(user, str) else user,
        rounds=tuple(answered(turn, one) if isinstance(one, str) else one for one in rounds),
    )
