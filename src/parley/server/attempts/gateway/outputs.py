"""Structured outputs that come as the words of an answer. Pure."""

from __future__ import annotations

from typing import Any

from parley.engine.checks.faults import CheckCouldNotRun
from parley.engine.checks.jsontext import JsonUnreadable, read_json
from parley.engine.checks.schema import read_schema
from parley.engine.script.plain import NotPlain, plain


def structured_in(text: str, schema: dict[str, Any]) -> tuple[Any] | None:
    """The JSON that an answer consists of, if it fits the schema that was asked for; else None.

    What does not fit is no output: the step then lacks a required one, which is the agent's behaviour.
    """
    try:
        value = plain(read_json(text))
        return None if read_schema(schema).faults(value) else (value,)
    except (JsonUnreadable, NotPlain, CheckCouldNotRun):
        return None
