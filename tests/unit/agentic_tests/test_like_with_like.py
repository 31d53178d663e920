"""What forbids comparing runs of a test, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from parley.server.agentic_tests.like_with_like import CONDITIONS, SUBJECT, YARDSTICK, differences
from parley.server.definitions.schemas import NOT_EVALUATED, Definition


def kept(**changes: Any) -> dict[str, Any]:
    fields = dict.fromkeys((*YARDSTICK, *CONDITIONS, *SUBJECT)) | {"goal": "Refund", "name": "One"}
    return {
        "fields": fields | changes.pop("fields", {}),
        "gateway": {"kind": "gateway", "slug": "shop:1", "facts": {"model": "a"}},
        "profile": {"name": "low", "user": {"model": "u"}, "judge": {"model": "j"}},
        "prompt_versions": {"judge": "1"},
        "resource_texts": [],
    } | changes


def test_every_evaluated_field_has_its_place() -> None:
    placed = {*YARDSTICK, *CONDITIONS, *SUBJECT, "gateway", "profile", "seed"}
    assert placed == set(Definition.model_fields) - NOT_EVALUATED


@pytest.mark.parametrize("name", YARDSTICK)
def test_another_yardstick_forbids(name: str) -> None:
    [found] = differences([kept(), kept(fields={name: "another"})])
    assert (found.kind, found.field, found.forbids) == ("yardstick", name, True)


@pytest.mark.parametrize("name", CONDITIONS)
def test_other_conditions_forbid(name: str) -> None:
    [found] = differences([kept(), kept(), kept(fields={name: "another"})])
    assert (found.kind, found.field, found.forbids) == ("conditions", name, True)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"profile": {"name": "low", "user": {"model": "u"}, "judge": {"model": "new"}}}, "profile"),
        ({"prompt_versions": {"judge": "2"}}, "prompt versions"),
        ({"resource_texts": ["Other terms"]}, "resource texts"),
    ],
)
def test_another_judge_prompt_or_resource_forbids(change: dict[str, Any], field: str) -> None:
    [found] = differences([kept(), kept(**change)])
    assert (found.field, found.forbids) == (field, True)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"gateway": {"kind": "gateway", "slug": "shop:1", "facts": {"model": "b"}}}, "gateway"),
        ({"fields": {"metadata": {"a": "b"}}}, "metadata"),
    ],
)
def test_another_system_under_test_is_told_and_forbids_nothing(change: dict[str, Any], field: str) -> None:
    [found] = differences([kept(), kept(**change)])
    assert (found.kind, found.field, found.forbids) == ("subject", field, False)


@pytest.mark.parametrize(
    "change",
    [
        {"fields": {"name": "Two", "cron": "0 6 * * *"}},
        {"fields": {"goal": [{"type": "text", "text": "Refund"}]}},
        {"gateway": {"kind": "gateway", "slug": "renamed:1", "facts": {"model": "a"}}},
    ],
)
def test_what_changes_nothing_evaluated_is_no_difference(change: dict[str, Any]) -> None:
    assert differences([kept(), kept(**change)]) == []


def test_nothing_differs_from_nothing() -> None:
    assert differences([]) == differences([kept()]) == []
