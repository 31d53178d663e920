"""The fingerprint of what a run evaluates: equal revisions may be compared with each other."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from parley.server.definitions.schemas import NOT_EVALUATED
from parley.server.definitions.words import words_of


def revision(
    fields: Mapping[str, Any],
    *,
    fingerprint: str,
    llms: Mapping[str, str],
    prompt_versions: Mapping[str, str],
) -> str:
    """SHA-256 (hex) of the evaluated fields, the gateway's fingerprint, profile and prompt versions.

    `fields` are stored ones. Name, schedule and notification fields are out; the gateway counts by
    its `fingerprint`, the profile by its name and the `llms` that play user and judge. Goal and
    criteria count by their words, whatever shape they came in.
    """
    left_out = NOT_EVALUATED | {"gateway", "model"}
    evaluated = {name: value for name, value in fields.items() if name not in left_out}
    for name in ("goal", "validation_criteria"):
        if evaluated[name] is not None:
            evaluated[name] = words_of(evaluated[name])
    return _digest(
        {
            "fields": evaluated,
            "gateway": fingerprint,
            "llms": dict(llms),
            "prompts": dict(prompt_versions),
        }
    )


def fingerprint_of(facts: Mapping[str, Any]) -> str:
    """SHA-256 (hex) of facts that make two systems under test the same."""
    return _digest(facts)


def _digest(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
