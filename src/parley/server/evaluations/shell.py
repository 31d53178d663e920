"""The shell plane's names for what is told here: camelCase, a run instead of an evaluation."""

from __future__ import annotations

from typing import Any, Final

from pydantic.alias_generators import to_camel

from parley.server.evaluations.schemas import GateReply

RENAMED: Final = {
    "evaluation_id": "runId",
    "baseline_id": "baselineRunId",
    "repetition": "runNumber",
    "index": "questionIndex",
}


def in_camel_case(value: Any) -> Any:
    """Plain data with the keys of the shell plane. Values are left alone, and so are keys in camelCase."""
    if isinstance(value, dict):
        return {RENAMED.get(key) or to_camel(key): in_camel_case(inner) for key, inner in value.items()}
    return [in_camel_case(inner) for inner in value] if isinstance(value, list) else value


def shell_gate(reply: GateReply) -> dict[str, Any]:
    """The gate's answer on the shell plane."""
    told: dict[str, Any] = in_camel_case(reply.model_dump(mode="json", exclude={"suite_id"}))
    return told
