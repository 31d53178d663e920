"""The arguments of a call, out of the text that an llm wrote. Pure."""

from __future__ import annotations

from typing import Any

from parley.engine.checks.jsontext import JsonUnreadable, read_json
from parley.engine.messages import ToolCall
from parley.engine.script.plain import NotPlain, plain
from parley.server.attempts.gateway.errors import AgentFailed


def arguments_of(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call that we are to answer. Raises `AgentFailed` for what is no JSON object."""
    try:
        given = plain(read_json(call.arguments.strip() or "{}"))  # many llms write nothing for none
    except (JsonUnreadable, NotPlain):
        given = None
    if not isinstance(given, dict):
        raise AgentFailed("call_unreadable", f"The arguments of a call of {call.name} are no JSON object.")
    return given


def lenient_arguments(written: str) -> Any:
    """The arguments of a call that is only told: the text itself where it is no JSON."""
    try:
        return plain(read_json(written.strip() or "{}"))
    except (JsonUnreadable, NotPlain):
        return plain(written)
