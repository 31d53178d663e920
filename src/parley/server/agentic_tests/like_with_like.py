"""Whether runs of a test were measured by one yardstick under the same conditions. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from parley.server.definitions.words import words_of

Kind: TypeAlias = Literal["yardstick", "conditions", "subject", "runs"]
"""How it was judged; what the conversation was held under; what was tried; the sets themselves."""

YARDSTICK = (
    "goal",
    "validation_criteria",
    "resources",
    "base_threshold",
    "loss_threshold",
    "judge_start_turn",
)
CONDITIONS = (
    "start",
    "tool_mocks",
    "hooks",
    "max_turns",
    "minimum_turns",
    "allow_user_exit",
    "user_sampling",
)
SUBJECT = ("metadata", "external_user_id")

_WORDS: dict[Kind, str] = {
    "yardstick": "{name} differs: outcomes and scores were measured by another yardstick.",
    "conditions": "{name} differs: the conversations were held under other conditions.",
    "subject": "{name} differs.",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is not the same in all runs. `field` is None where it is about the sets themselves."""

    kind: Kind
    field: str | None
    detail: str

    @property
    def forbids(self) -> bool:
        """Whether a comparison would tell of this instead of the system under test."""
        return self.kind != "subject"


def differences(definitions: Sequence[Mapping[str, Any]]) -> list[Difference]:
    """What is not the same in all these snapshots, what forbids a comparison first."""
    facets = [_facets(one) for one in definitions]
    return [
        Difference(kind, name, _WORDS[kind].format(name=name))
        for (kind, name) in (facets[0] if facets else ())
        if len({one[kind, name] for one in facets}) > 1
    ]


def _facets(definition: Mapping[str, Any]) -> dict[tuple[Kind, str], str]:
    """What counts of a snapshot, each as a text that is equal for what is equal."""
    fields = definition.get("fields", {})
    profile = definition.get("profile") or {}
    found: dict[tuple[Kind, str], Any] = {("yardstick", name): _value(fields, name) for name in YARDSTICK}
    found["yardstick", "resource texts"] = definition.get("resource_texts")
    found["yardstick", "profile"] = {"name": profile.get("name"), **_models(profile)}
    found["yardstick", "prompt versions"] = definition.get("prompt_versions")
    found |= {("conditions", name): _value(fields, name) for name in CONDITIONS}
    found["subject", "gateway"] = _target(definition.get("gateway") or {})
    found |= {("subject", name): _value(fields, name) for name in SUBJECT}
    return {key: json.dumps(value, sort_keys=True, default=str) for key, value in found.items()}


def _value(fields: Mapping[str, Any], name: str) -> Any:
    value = fields.get(name)
    return words_of(value) if name in ("goal", "validation_criteria") and value is not None else value


def _models(profile: Mapping[str, Any]) -> dict[str, Any]:
    return {seat: (profile.get(seat) or {}).get("model") for seat in ("user", "judge")}


def _target(target: Mapping[str, Any]) -> list[Any]:
    own = target.get("slug") if target.get("kind") == "integrated" else target.get("facts")
    return [target.get("kind"), own]
