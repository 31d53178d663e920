"""Answers to calls that a gateway leaves open."""

from __future__ import annotations

import json
from typing import Any

import pytest

from parley.engine.messages import ToolCall
from parley.engine.spec import ToolMock
from parley.engine.tools import MockTools


def answer(arguments: str, *mocks: ToolMock, name: str = "find") -> str:
    return MockTools(mocks).answer(ToolCall(id="c1", name=name, arguments=arguments)).content


def fits(match: dict[str, Any], arguments: str) -> bool:
    return answer(arguments, ToolMock(name="find", match=match, result="yes")) == "yes"


def test_mock_of_the_name_answers() -> None:
    mocks = (ToolMock(name="other", result="no"), ToolMock(name="find", result="yes"))
    assert answer("not json", *mocks) == "yes"


def test_first_fitting_mock_answers() -> None:
    mocks = (
        ToolMock(name="find", match={"id": 1}, result="one"),
        ToolMock(name="find", match={"id": 2}, result="two"),
        ToolMock(name="find", result="any"),
    )
    assert [answer(json.dumps({"id": n}), *mocks) for n in (1, 2, 3)] == ["one", "two", "any"]


def test_result_belongs_to_its_call() -> None:
    result = MockTools(()).answer(ToolCall(id="c7", name="find", arguments="{}"))
    assert (result.id, result.name) == ("c7", "find")


def test_unknown_tool_is_told_to_be_unavailable() -> None:
    assert "not available" in json.loads(answer("{}"))["error"]


def test_empty_result_is_an_answer() -> None:
    assert answer("{}", ToolMock(name="find", result="")) == ""


def test_error_of_a_mock_is_told_as_json() -> None:
    assert json.loads(answer("{}", ToolMock(name="find", error='no "such" order'))) == {
        "error": 'no "such" order'
    }


@pytest.mark.parametrize(
    ("match", "arguments"),
    [
        ({}, "{}"),
        ({}, ""),
        ({"id": 1}, '{"id": 1, "more": 2}'),
        ({"id": 1}, '{"id": 1.0}'),
        ({"a": {"b": None}}, '{"a": {"b": null, "c": 0}}'),
        ({"ids": [1, {"x": 2}]}, '{"ids": [1, {"x": 2, "y": 3}]}'),
        ({"ok": True}, '{"ok": true}'),
    ],
)
def test_match_is_a_subset_by_value(match: dict[str, Any], arguments: str) -> None:
    assert fits(match, arguments)


@pytest.mark.parametrize(
    ("match", "arguments"),
    [
        ({"id": 1}, '{"id": "1"}'),
        ({"id": 1}, '{"id": true}'),
        ({"ids": [1]}, '{"ids": [true]}'),
        ({"ids": [1]}, '{"ids": [1, 2]}'),
        ({"ids": [1]}, '{"ids": 1}'),
        ({"ok": False}, '{"ok": 0}'),
        ({"ok": None}, "{}"),
        ({"a": {"b": 1}}, '{"a": [1]}'),
        ({"id": 1}, ""),
        ({"id": 1}, "[1]"),
        ({}, '{"cut'),
        pytest.param({}, '{"a": ' + "[" * 100_000, id="nested too deeply"),
    ],
)
def test_other_arguments_do_not_match(match: dict[str, Any], arguments: str) -> None:
    assert not fits(match, arguments)
