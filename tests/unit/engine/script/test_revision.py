"""Equal suites have equal revisions, however they were written; a change of meaning changes it."""

from __future__ import annotations

from typing import Any

import pytest

from parley.engine.script.reading import read_suite
from parley.engine.script.revision import canonical_json, effective_evidence, suite_revision
from parley.engine.script.shapes import Evidence

SHORT: dict[str, Any] = {
    "id": "s",
    "cases": [{"id": "c", "steps": [{"message": "x", "expect": {"type": "answer"}}]}],
}
WRITTEN_OUT: dict[str, Any] = {
    "onSemanticFailure": "stop",
    "cases": [
        {
            "repetitions": 1,
            "replaySafe": False,
            "steps": [{"expect": {"criteria": [], "type": "answer", "tools": []}, "message": "x"}],
            "splits": [],
            "id": "c",
            "name": None,
        }
    ],
    "id": "s",
    "evidence": {"history": True},
}


def revision_of(data: dict[str, Any], defaults: Evidence | None = None) -> str:
    return suite_revision(read_suite(data), defaults or Evidence())


def test_defaults_order_and_null_do_not_count() -> None:
    assert revision_of(SHORT) == revision_of(WRITTEN_OUT)
    assert revision_of({**SHORT, "cases": [{**SHORT["cases"][0], "params": {"n": 1}}]}) == revision_of(
        {**SHORT, "cases": [{**SHORT["cases"][0], "params": {"n": 1.0}}]}
    )


@pytest.mark.parametrize(
    "change",
    [
        {"id": "t"},
        {"onSemanticFailure": "continue"},
        {"evidence": {"events": []}},
        {"evidence": {"events": False}},
        {"evidence": {"history": False}},
    ],
)
def test_change_of_meaning_changes_it(change: dict[str, Any]) -> None:
    assert revision_of({**SHORT, **change}) != revision_of(SHORT)


def test_evidence_counts_by_what_holds_in_the_end() -> None:
    own = {**SHORT, "evidence": {"events": ["error"]}}
    assert revision_of(SHORT, Evidence(events=("error",))) == revision_of(own)
    assert revision_of(own, Evidence(events=False)) == revision_of(own)


def test_evidence_is_inherited_field_by_field_and_lists_replace() -> None:
    suite = read_suite({**SHORT, "evidence": {"events": ["error"]}})
    found = effective_evidence(suite, Evidence(history=False, events=("interrupt",), outputs=()))
    assert found == Evidence(history=False, events=("error",), outputs=())
    assert effective_evidence(read_suite(SHORT)) == Evidence(history=True)


def test_canonical_json_is_one_text_per_value() -> None:
    assert canonical_json({"b": 2.0, "a": ["é", None]}) == '{"a":["é",null],"b":2}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json(float("inf"))
