"""Errors in OpenAPI: each status with its codes and an example."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from parley.server.errors import ServerError
from parley.server.kit.schemas import ErrorReply


def answers_with(*errors: type[ServerError]) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route that may raise `errors`."""
    by_status: dict[int, list[type[ServerError]]] = defaultdict(list)
    for error in errors:
        by_status[error.status].append(error)
    return {status: _response(kinds) for status, kinds in by_status.items()}


def _response(kinds: list[type[ServerError]]) -> dict[str, Any]:
    meanings = [f"`{kind.code}`: {(kind.__doc__ or '').strip().splitlines()[0]}" for kind in kinds]
    examples = {
        kind.code: {"value": {"error": kind.message, "code": kind.code, "details": None}} for kind in kinds
    }
    return {
        "model": ErrorReply,
        "description": "  \n".join(meanings),
        "content": {"application/json": {"examples": examples}},
    }
