"""Calls that pause a step: what they ask, out of their arguments. Pure."""

from __future__ import annotations

import json
from typing import Any

from parley.engine.script.observation import Interrupt, Option
from parley.engine.script.shapes import LiteralResume
from parley.server.attempts.gateway.errors import AgentFailed
from parley.server.attempts.targets import InterruptTool


def interrupt_of(tool: InterruptTool, call_id: str, arguments: dict[str, Any]) -> Interrupt:
    """The pause that a call stands for. Raises `AgentFailed` for arguments that do not hold it."""
    question = None if tool.question is None else _found(tool, arguments, tool.question)
    options = () if tool.options is None else _options(tool, _found(tool, arguments, tool.options))
    return Interrupt(
        request_id=call_id,
        kind=tool.kind,
        question=question if question is None or isinstance(question, str) else json.dumps(question),
        schema_id=tool.schema_id,
        schema_version=tool.schema_version,
        options=options,
        request=arguments,
    )


def answer_of(resume: LiteralResume) -> Any:
    """A resume as the tool's result: a text, ids of options, a value, or null for a cancel."""
    match resume.type:
        case "text":
            return resume.text
        case "select":
            return list(resume.ids)
        case "value":
            return resume.value
    return None


def at_pointer(value: Any, pointer: str) -> Any:
    """The part of `value` that a JSON pointer names. Raises LookupError."""
    for written in pointer.split("/")[1:]:
        name = written.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value[name]
        elif isinstance(value, list) and name.isdecimal():
            value = value[int(name)]
        else:
            raise LookupError(pointer)
    return value


def _found(tool: InterruptTool, arguments: dict[str, Any], pointer: str) -> Any:
    try:
        return at_pointer(arguments, pointer)
    except LookupError:
        told = f"The call of {tool.name} has nothing at {pointer!r}, which its pause is made of."
        raise AgentFailed("pause_unreadable", told) from None


def _options(tool: InterruptTool, given: Any) -> tuple[Option, ...]:
    options = [_option(one) for one in given] if isinstance(given, list) else []
    known = [one for one in options if one is not None]
    if not known or len(known) < len(options) or len({one.id for one in known}) < len(known):
        told = f"The call of {tool.name} offers no list of options that can be told apart."
        raise AgentFailed("pause_unreadable", told)
    return tuple(known)


def _option(given: Any) -> Option | None:
    """An option out of its id alone, or out of `{id, label?, description?}`."""
    if isinstance(given, str | int) and not isinstance(given, bool):
        given = {"id": given}
    if not isinstance(given, dict):
        return None
    one_id, label, description = given.get("id"), given.get("label"), given.get("description")
    if isinstance(one_id, bool) or not isinstance(one_id, str | int) or not 1 <= len(str(one_id)) <= 256:
        return None
    return Option(
        id=str(one_id),
        label=label if isinstance(label, str) else str(one_id),
        description=description if isinstance(description, str) else None,
    )
