"""A Python function as a tool of the chat-completions API."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

from pydantic import BaseModel, create_model


def tool_schema(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    """The declaration: parameters from the signature, the description from the docstring."""
    hints = get_type_hints(function) if inspect.isroutine(function) else {}
    fields: dict[str, Any] = {
        parameter.name: (
            hints.get(parameter.name, Any),
            ... if parameter.default is parameter.empty else parameter.default,
        )
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }
    shape: type[BaseModel] = create_model(name, **fields)
    parameters = shape.model_json_schema()
    parameters.pop("title", None)
    return {
        "type": "function",
        "function": {"name": name, "description": inspect.getdoc(function) or "", "parameters": parameters},
    }
