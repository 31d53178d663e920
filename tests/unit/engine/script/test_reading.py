"""A suite is read strictly, and every problem is told at once by its path."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from parley.engine.script.faults import SuiteInvalid
from parley.engine.script.reading import read_suite
from parley.engine.script.shapes import Criterion, Named, ResumeSelect, criterion_id

WHOLE: dict[str, Any] = {
    "id": "refunds",
    "name": "Refunds",
    "onSemanticFailure": "continue",
    "evidence": {"history": False, "events": ["tool-result", "error"], "outputs": [{"schemaId": "receipt"}]},
    "cases": [
        {
            "id": "over-the-limit",
            "params": {"plan": None},
            "splits": ["smoke"],
            "lock": "orders",
            "repetitions": 3,
            "replaySafe": True,
            "steps": [
                {
                    "message": "Refund order 17, please.",
                    "expect": {
                        "type": "interrupt",
                        "schemaId": "approval",
                        "schemaVersion": "1",
                        "tools": [
                            {"name": "find_order", "arguments": {"id": 17}, "count": 1},
                            {"name": "refund", "called": False},
                            {"name": "ask", "count": {"min": 1}, "after": "find_order"},
                        ],
                    },
                },
                {
                    "resume": {"type": "select", "ids": ["approve"]},
                    "expect": {
                        "type": "answer",
                        "outputs": [{"schemaId": "receipt"}],
                        "text": {"contains": ["17"], "matches": ["[0-9]+"], "ignoreCase": True},
                        "jsonSchema": {"type": "object"},
                        "maxLatencyMs": 2000,
                        "criteria": ["Says when the money arrives.", {"id": "tone", "text": "Is friendly."}],
                        "reference": {"using": "policy", "params": {"days": 14}},
                    },
                },
            ],
        },
        {"id": "plain", "steps": [{"message": "Hello", "expect": {"type": "answer"}}]},
    ],
}


def problems_of(data: object) -> dict[str, str]:
    with pytest.raises(SuiteInvalid) as refused:
        read_suite(data)
    return {problem.path: problem.message for problem in refused.value.problems}


def changed(path: list[str | int], value: Any) -> dict[str, Any]:
    """The whole suite with one thing replaced, or, for `...`, removed."""
    data = copy.deepcopy(WHOLE)
    at: Any = data
    for step in path[:-1]:
        at = at[step]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return data


def test_whole_suite_is_read_and_written_back_as_it_means() -> None:
    suite = read_suite(WHOLE)
    first, second = suite.cases[0].steps
    assert second.resume == ResumeSelect(type="select", ids=("approve",))
    assert second.expect.named_reference == Named(using="policy", params={"days": 14})
    said = "Says when the money arrives."
    assert second.expect.criteria[0] == Criterion(id=criterion_id(said), text=said)
    assert first.expect.tools[0].count == first.expect.tools[0].count
    assert read_suite(suite.wire()) == suite


def test_null_of_a_payload_is_kept_and_any_other_null_is_as_if_left_out() -> None:
    suite = read_suite(changed(["name"], None))
    assert "name" not in suite.wire()
    assert suite.wire()["cases"][0]["params"] == {"plan": None}
    step = {"message": "x", "expect": {"type": "interrupt"}}
    resume = {"resume": {"type": "value", "value": None}, "expect": {"type": "answer"}}
    value = read_suite({"id": "s", "cases": [{"id": "c", "steps": [step, resume]}]})
    assert value.wire()["cases"][0]["steps"][1]["resume"] == {"type": "value", "value": None}


STEP0: list[str | int] = ["cases", 0, "steps", 0]
EXPECT0: list[str | int] = [*STEP0, "expect"]
EXPECT1: list[str | int] = ["cases", 0, "steps", 1, "expect"]


@pytest.mark.parametrize(
    ("path", "value", "where", "says"),
    [
        (["id"], ..., "id", "is missing"),
        (["id"], "x" * 257, "id", "must have at most 256 characters"),
        (["id"], "  ", "id", "must not be blank"),
        (["cases"], [], "cases", "must have at least 1 item(s)"),
        (["cases"], "x", "cases", "must be a list"),
        (["case"], 1, "case", "is not a known field; did you mean 'cases'?"),
        (["cases", 1, "id"], "over-the-limit", "cases[1].id", "is not unique: 'over-the-limit'"),
        (["cases", 0, "repetitions"], "3", "cases[0].repetitions", "must be a whole number"),
        (["cases", 0, "repetitions"], True, "cases[0].repetitions", "must be a whole number"),
        (["cases", 0, "splits"], ["a", "a"], "cases[0].splits", "names a split twice"),
        (["cases", 0, "replay_safe"], True, "cases[0].replay_safe",
         "is not a known field; did you mean 'replaySafe'?"),
        ([*STEP0, "message"], ..., "cases[0].steps[0]", "must have exactly one of `message` and `resume`"),
        ([*EXPECT0, "tools", 1, "name"], 5, "cases[0].steps[0].expect.tools[1].name", "must be a text"),
        ([*EXPECT0, "tools", 1, "nmae"], "x", "cases[0].steps[0].expect.tools[1].nmae",
         "is not a known field; did you mean 'name'?"),
        ([*EXPECT0, "tools", 0, "count"], {"min": 2, "max": 1}, "cases[0].steps[0].expect.tools[0].count",
         "has a `max` under its `min`"),
        ([*EXPECT0, "tools", 1, "after"], "x", "cases[0].steps[0].expect.tools[1]",
         "has `called: false`, so neither `count` nor `after`"),
        ([*EXPECT1, "schemaId"], "x", "cases[0].steps[1].expect.schemaId",
         "belongs to an interrupt; name outputs of an answer under `outputs`"),
        ([*EXPECT0, "type"], "pause", "cases[0].steps[0].expect.type", "must be 'answer' or 'interrupt'"),
        ([*EXPECT1, "text", "matches"], ["("], "cases[0].steps[1].expect.text.matches[0]",
         "RE2 does not take"),
        ([*EXPECT1, "text", "matches"], "x", "cases[0].steps[1].expect.text.matches", "must be a list"),
        ([*EXPECT1, "jsonSchema"], {"type": "objekt"}, "cases[0].steps[1].expect.jsonSchema.type", ""),
        ([*EXPECT1, "criteria"], ["a", "a"], "cases[0].steps[1].expect.criteria[1].id", "is not unique"),
        ([*EXPECT1, "criteria", 1], {"text": "x"}, "cases[0].steps[1].expect.criteria[1].id", "is missing"),
        (["cases", 0, "steps", 1, "resume"], {"type": "pick"}, "cases[0].steps[1].resume", ""),
        (["cases", 0, "steps", 1, "resume"], {"type": "select", "ids": [1]},
         "cases[0].steps[1].resume.ids[0]", "must be a text"),
        (["cases", 0, "steps", 1, "resume"], {"using": "x", "extra": 1}, "cases[0].steps[1].resume.extra",
         "is not a known field"),
        (["evidence", "events"], True, "evidence.events", "must be false, a list"),
        (["evidence", "events"], ["text-delta"], "evidence.events[0]", "must be 'tool-call-start'"),
        (["evidence", "outputs"], True, "evidence.outputs", "must be false, a list"),
        (["evidence", "outputs"], [{"schemaVersion": "1"}], "evidence.outputs[0]", "must name a `dataType`"),
        (["cases", 0, "params"], {"x": float("nan")}, "cases[0].params.x", "must be a finite number"),
        (["cases", 0, "params"], {"x": {1, 2}}, "cases[0].params.x", "must be JSON, and set is not"),
        (["cases", 0, "params"], {1: 2}, "cases[0].params", "has a key that is no text: 1"),
    ],
)  # fmt: skip
def test_problem_is_named_by_its_path(path: list[str | int], value: Any, where: str, says: str) -> None:
    found = problems_of(changed(path, value))
    assert list(found) == [where]
    assert found[where].startswith(says)


@pytest.mark.parametrize("data", [None, [], "suite", 7])
def test_what_is_no_object_is_refused(data: object) -> None:
    assert problems_of(data) == {"": "must be an object"}


def case_of(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"id": "s", "cases": [{"id": "c", "steps": list(steps)}]}


ASKS = {"message": "x", "expect": {"type": "answer"}}
PAUSES = {"message": "x", "expect": {"type": "interrupt"}}
RESUMES = {"resume": {"type": "cancel"}, "expect": {"type": "answer"}}
RESUMES_TO_PAUSE = {"resume": {"type": "text", "text": "x"}, "expect": {"type": "interrupt"}}


@pytest.mark.parametrize(
    "steps",
    [(ASKS,), (PAUSES,), (ASKS, ASKS), (PAUSES, RESUMES), (PAUSES, RESUMES_TO_PAUSE, RESUMES, ASKS, PAUSES)],
)
def test_orders_that_may_be(steps: tuple[dict[str, Any], ...]) -> None:
    assert len(read_suite(case_of(*steps)).cases[0].steps) == len(steps)


@pytest.mark.parametrize(
    ("steps", "where"),
    [
        ((RESUMES,), "cases[0].steps[0].resume"),
        ((ASKS, RESUMES), "cases[0].steps[1].resume"),
        ((PAUSES, ASKS), "cases[0].steps[1].message"),
        ((PAUSES, RESUMES, RESUMES), "cases[0].steps[2].resume"),
    ],
)
def test_orders_that_may_not_be(steps: tuple[dict[str, Any], ...], where: str) -> None:
    assert list(problems_of(case_of(*steps))) == [where]


def test_every_problem_is_told_at_once() -> None:
    data = case_of(RESUMES, {**ASKS, "expect": {"type": "answer", "text": {"matches": ["["]}}})
    assert list(problems_of(data)) == ["cases[0].steps[0].resume", "cases[0].steps[1].expect.text.matches[0]"]


def test_texts_are_cleaned_and_too_deep_data_is_refused() -> None:
    suite = read_suite(changed(["name"], "a\x00b\ud800"))
    assert suite.name == "a\ufffdb\ufffd"
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    assert "nested more than 64 deep" in next(
        iter(problems_of(changed(["cases", 0, "params"], deep)).values())
    )
