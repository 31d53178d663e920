"""What a suite holds, as it is stored: description, cases, defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias
from uuid import UUID

CaseKind: TypeAlias = Literal["simulated"]
"""Each kind has its own body; `freeze` knows what to make of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteCase:
    """One case. `id` is stable over versions of the suite; what is tried stands in the kind's `body`."""

    id: str
    kind: CaseKind
    splits: tuple[str, ...] = ()
    body: Mapping[str, Any]

    @property
    def test_id(self) -> UUID:
        """The test of a simulated case."""
        return UUID(self.body["test_id"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The whole of a suite but its name and schedule. `defaults` hold for starts that leave them out."""

    description: str | None
    cases: tuple[SuiteCase, ...]
    defaults: Mapping[str, Any]

    @property
    def splits(self) -> list[str]:
        """Every split that a case names, in the order of the cases."""
        return list(dict.fromkeys(split for case in self.cases for split in case.splits))

    def of_split(self, split: str | None) -> list[tuple[int, SuiteCase]]:
        """The cases of a split, or all, each with its place in the suite."""
        placed = enumerate(self.cases)
        return [(index, case) for index, case in placed if split is None or split in case.splits]


def simulated(test_id: UUID, splits: Sequence[str]) -> SuiteCase:
    """A case that is an agentic test: its id is the test's."""
    return SuiteCase(
        id=str(test_id),
        kind="simulated",
        splits=tuple(dict.fromkeys(splits)),
        body={"test_id": str(test_id)},
    )


def written(content: Content) -> dict[str, Any]:
    """The content as a JSON value."""
    return {
        "description": content.description,
        "cases": [
            {"id": case.id, "kind": case.kind, "splits": list(case.splits), "body": dict(case.body)}
            for case in content.cases
        ],
        "defaults": dict(content.defaults),
    }


def read(value: Mapping[str, Any]) -> Content:
    """The content that `written` wrote."""
    return Content(
        description=value["description"],
        cases=tuple(
            SuiteCase(id=case["id"], kind=case["kind"], splits=tuple(case["splits"]), body=case["body"])
            for case in value["cases"]
        ),
        defaults=value["defaults"],
    )
