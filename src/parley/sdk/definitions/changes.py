"""What a file would change, told in lines. Pure."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from parley.sdk.harmless import one_line

Kind: TypeAlias = Literal["create", "change", "delete", "same"]
_MARKS: Mapping[Kind, str] = {"create": "+", "change": "~", "delete": "-", "same": "="}
_LONGEST = 100
"""Characters of a value that are shown beside another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What happens to one test: `sent` is the body that does it, `before` and `after` are what differs."""

    kind: Kind
    name: str
    test_id: str = ""
    sent: Mapping[str, Any] = field(default_factory=dict)
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)

    def told(self) -> dict[str, Any]:
        """For programs."""
        return {
            "kind": self.kind,
            "name": self.name,
            "id": self.test_id or None,
            "before": dict(self.before),
            "after": dict(self.after),
        }


def differing(
    sent: Mapping[str, Any], before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields that were sent and come out otherwise than they were, before and after."""
    names = [name for name in sent if before.get(name) != after.get(name)]
    return {name: before.get(name) for name in names}, {name: after.get(name) for name in names}


def lines(changes: Sequence[Change]) -> Iterator[str]:
    """The changes for people; those that change nothing are counted only."""
    for change in changes:
        if change.kind != "same":
            yield f"{_MARKS[change.kind]} {one_line(change.name)}"
        if change.kind == "change":
            for name in change.after:
                yield from _field(name, change.before[name], change.after[name])
    counts = {kind: sum(change.kind == kind for change in changes) for kind in _MARKS}
    yield (
        f"{counts['create']} to create, {counts['change']} to change, {counts['delete']} to delete, "
        f"{counts['same']} unchanged."
    )


def _field(name: str, before: Any, after: Any) -> Iterator[str]:
    old, new = _shown(before), _shown(after)
    if len(old) + len(new) <= _LONGEST and "\n" not in old + new:
        yield f"    {name}: {old} -> {new}"
        return
    yield f"    {name}:"
    for line in difflib.ndiff(old.splitlines(), new.splitlines()):
        if not line.startswith("?"):
            yield f"      {line.rstrip()}"


def _shown(value: Any) -> str:
    if isinstance(value, str) and len(value) > _LONGEST // 2:
        return value
    return json.dumps(
        value, ensure_ascii=False, indent=2 if isinstance(value, list | dict) and value else None
    )
