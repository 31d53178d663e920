from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from pydantic import ValidationError

from parley.server.custom_evaluations.cases import content_of, criteria_of, frozen, splits_of
from parley.server.custom_evaluations.lenient import MOST_IGNORED, ignored, written
from parley.server.custom_evaluations.schemas import DatasetIn


@pytest.fixture
def make_id() -> Any:
    numbers: Iterator[int] = count()
    return lambda: f"made-{next(numbers)}"


def dataset(*questions: dict[str, Any], **fields: Any) -> DatasetIn:
    return DatasetIn.model_validate({"name": "S", "questions": list(questions), **fields})


def question(query: str, **fields: Any) -> dict[str, Any]:
    return {"main_question": {"query": query, **fields}}


def test_hash_tells_content_and_neither_id_nor_split(make_id: Any) -> None:
    def hash_of(*questions: dict[str, Any]) -> str:
        found: str = content_of(dataset(*questions), (), make_id)["questions"][0]["contentHash"]
        return found

    plain = hash_of(question("How?"))
    assert hash_of({"id": "mine", **question("How?", splits=["a"])}) == plain
    assert hash_of(question("How?", checks=[], judgeGuideline=None)) == plain
    assert hash_of(question("How?") | {"follow_up_questions": [{"query": "And?"}]}) != plain
    assert hash_of(question("How?", expectedResults="So.")) != plain
    one, other = ({"type": "contains", "text": "x"}, {"type": "contains", "text": "x", "mustPass": False})
    assert hash_of(question("How?", checks=[one])) == hash_of(question("How?", checks=[other]))


def test_questions_without_id_keep_theirs_while_their_content_stays(make_id: Any) -> None:
    before = content_of(dataset(question("A"), question("B"), question("B")), (), make_id)["questions"]
    after = content_of(dataset(question("B"), question("C"), question("B"), question("B")), before, make_id)
    assert [each["id"] for each in after["questions"]] == ["made-1", "made-3", "made-2", "made-4"]


def test_id_that_is_given_now_is_not_given_to_another(make_id: Any) -> None:
    before = content_of(dataset(question("A")), (), make_id)["questions"]
    after = content_of(dataset({"id": "made-0", **question("B")}, question("A")), before, make_id)
    assert [each["id"] for each in after["questions"]] == ["made-0", "made-1"]


def test_index_in_a_split_is_that_of_the_dataset(make_id: Any) -> None:
    content = content_of(dataset(question("A"), question("B", splits=["s"])), (), make_id)
    assert [(case.index, case.name) for case in frozen(content, "s")] == [(1, "B")]
    assert frozen(content, "other") == []
    assert len(frozen(content, None)) == 2
    assert splits_of(content) == ["s"]


def test_criteria_are_those_that_were_given(make_id: Any) -> None:
    content = content_of(dataset(question("A"), acceptanceCriteria="Yes.", rejectionCriteria=""), (), make_id)
    assert criteria_of(content) == {"acceptance": "Yes."}


def test_what_is_written_reads_back_to_the_same() -> None:
    checks = [
        {"type": "cost", "maxUsd": 0.1},
        {"type": "json_schema", "schema": {"type": "object"}},
        {"type": "similarity", "method": "jaccard", "min": 0.25, "mustPass": True},
    ]
    body = dataset(question("A", checks=checks, expectedTrajectory={"tools": []}), description="D")
    plain = written(body)
    assert plain["questions"][0]["main_question"]["checks"] == checks
    assert DatasetIn.model_validate(plain) == body


def test_unknown_fields_are_told_by_their_path_up_to_a_number() -> None:
    body = dataset(question("A", odd=1) | {"odd": 2}, odd=3)
    assert ignored(body) == ["odd", "questions.0.odd", "questions.0.main_question.odd"]
    assert len(ignored(dataset(question("A"), **{f"x{at}": 1 for at in range(500)}))) == MOST_IGNORED


def test_field_in_snake_case_is_unknown() -> None:
    assert ignored(dataset(question("A", expected_results="x"))) == [
        "questions.0.main_question.expected_results"
    ]


def test_wrong_type_is_refused() -> None:
    with pytest.raises(ValidationError):
        dataset(question("A", expectedResults=7))
