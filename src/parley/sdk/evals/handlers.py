"""What a customer hands in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pydantic import BaseModel

from parley.sdk.evals.agents import Agent

Handler: TypeAlias = Callable[..., Any]
"""Sync or async; it is given as many of its arguments as it takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Responder:
    """Answers pauses of one schema: `answer(context, interrupt, params)`, as many of them as it takes.

    It gives a text, or a resume such as `{"type": "select", "ids": ["approve"]}`.
    """

    answer: Handler
    schema_id: str | None = None
    schema_version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Handlers:
    """A customer's callables. Everything but `agent` or `execute` is optional."""

    agent: Agent | None = None
    setup: Handler | None = None
    execute: Handler | None = None
    responders: Mapping[str, Responder] = field(default_factory=dict)
    references: Mapping[str, Handler] = field(default_factory=dict)
    filters: Mapping[str, Handler] = field(default_factory=dict)
    verify: Handler | None = None
    teardown: Handler | None = None
    report_error: Handler | None = None
    params_model: type[BaseModel] | None = None
