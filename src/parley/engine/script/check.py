"""How one deterministic expectation came out."""

from __future__ import annotations

from typing import ClassVar

from parley.engine.script.wire import Json, Wire


class CheckRecord(Wire):
    """How one expectation came out. `check` is its path under `expect`."""

    payloads: ClassVar[frozenset[str]] = frozenset({"expected", "actual"})

    check: str
    passed: bool
    detail: str
    expected: Json = None
    actual: Json = None
