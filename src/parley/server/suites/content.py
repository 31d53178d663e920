"""What a suite holds, as it is stored: description, cases, defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias
from uuid import UUID

CaseKind: TypeAlias = Literal["simulated", "scripted"]
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
    simulated: tuple[SuiteCase, ...]
    script: Mapping[str, Any] | None = None
    """The scripted part, as `script.StoredScript` writes it."""
    defaults: Mapping[str, Any]

    @property
    def cases(self) -> tuple[SuiteCase, ...]:
        """All cases: the simulated ones, then the scripted ones."""
        return (*self.simulated, *self.scripted)

    @property
    def scripted(self) -> tuple[SuiteCase, ...]:
        """The cases of the script; what is tried stands in the body."""
        if self.script is None:
            return ()
        return tuple(
            SuiteCase(id=case["id"], kind="scripted", splits=tuple(case["splits"]), body=case)
            for case in self.script["suite"]["cases"]
        )

    @property
    def splits(self) -> list[str]:
        """Every split that a case names, in the order of the cases."""
        return list(dict.fromkeys(split for case in self.cases for split in case.splits))

    def of_split(
        self, split: str | None, case_ids: Sequence[str] | None = None
    ) -> list[tuple[int, SuiteCase]]:
        """The cases of a split, or all, of those named if any are; each with its place in the suite."""
        placed = enumerate(self.cases)
        of_split = [(index, case) for index, case in placed if split is None or split in case.splits]
        return [one for one in of_split if case_ids is None or one[1].id in case_ids]


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
            for case in content.simulated
        ],
        "script": None if content.script is None else dict(content.script),
        "defaults": dict(content.defaults),
    }


def read(value: Mapping[str, Any]) -> Content:
    """The content that `written` wrote."""
    return Content(
        description=value["description"],
        simulated=tuple(
            SuiteCase(id=case["id"], kind=case["kind"], splits=tuple(case["splits"]), body=case["body"])
            for case in value["cases"]
        ),
        script=value.get("script"),
        defaults=value["defaults"],
    )
