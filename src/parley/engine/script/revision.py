"""The fingerprint of a suite: equal revisions play and judge the same."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from parley.engine.script.shapes import EVIDENCE_DEFAULTS, Evidence, Suite


def canonical_json(value: Any) -> str:
    """`value` as one text: keys sorted, no spaces, whole numbers without a fraction. Raises ValueError."""
    return json.dumps(
        _plain_numbers(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def digest(value: Any) -> str:
    """SHA-256 (hex) of the canonical JSON of `value`."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def effective_evidence(suite: Suite, defaults: Evidence = EVIDENCE_DEFAULTS) -> Evidence:
    """What holds for `suite`: its own policy over the runner's `defaults` over ours."""
    return suite.evidence.over(defaults.over(EVIDENCE_DEFAULTS))


def suite_revision(suite: Suite, defaults: Evidence = EVIDENCE_DEFAULTS) -> str:
    """SHA-256 (hex) of the suite with the effective evidence in place of its own."""
    return digest({**suite.wire(), "evidence": effective_evidence(suite, defaults).wire()})


def _plain_numbers(value: Any) -> Any:
    """1.0 and 1 are one number in JSON, so that they are one in its canonical form."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _plain_numbers(inner) for key, inner in value.items()}
    return [_plain_numbers(inner) for inner in value] if isinstance(value, list) else value
