from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from parley.engine.checks.faults import CheckRefused
from parley.engine.checks.run import Answered, CheckResult, rating_after, run_checks
from parley.engine.checks.shapes import MAX_CHECKS, read_checks

ANSWER: dict[str, Any] = {"text": " Refunds take 30 days. "}


def outcome(check: dict[str, Any], **answered: Any) -> CheckResult:
    (result,) = run_checks(read_checks([check]), Answered(**{**ANSWER, **answered}))
    return result


@pytest.mark.parametrize(
    ("check", "answered", "passed"),
    [
        ({"type": "contains", "text": "30 days"}, {}, True),
        ({"type": "contains", "text": "30 DAYS"}, {}, False),
        ({"type": "contains", "text": "30 DAYS", "ignoreCase": True}, {}, True),
        ({"type": "contains", "text": "30 days", "not": True}, {}, False),
        ({"type": "contains", "text": "caf\u00e9"}, {"text": "cafe\u0301"}, True),
        ({"type": "contains", "text": "STRASSE", "ignoreCase": True}, {"text": "Straße"}, True),
        ({"type": "equals", "text": "Refunds take 30 days."}, {}, True),
        ({"type": "equals", "text": "Refunds take 30 days"}, {}, False),
        ({"type": "equals", "text": "Refunds take 30 days", "not": True}, {}, True),
        ({"type": "equals", "text": "REFUNDS take 30 days.", "ignoreCase": True}, {}, True),
        ({"type": "regex", "pattern": r"\d+ days"}, {}, True),
        ({"type": "regex", "pattern": r"^\d+"}, {}, False),
        ({"type": "regex", "pattern": r"^\d+", "not": True}, {}, True),
        ({"type": "regex", "pattern": "a"}, {"text": "a" * 200_001}, None),
        ({"type": "json_schema", "schema": {"required": ["a"]}}, {"text": '{"a": 1}'}, True),
        ({"type": "json_schema", "schema": {"required": ["a"]}}, {"text": "{}"}, False),
        ({"type": "json_schema", "schema": True}, {}, False),
        ({"type": "json_schema", "schema": {"$ref": "#"}}, {"text": "1"}, None),
        ({"type": "trajectory", "tools": ["a", "b"], "mode": "strict"}, {"tools": ("a", "b")}, True),
        ({"type": "trajectory", "tools": ["a", "b"], "mode": "strict"}, {"tools": ("b", "a")}, False),
        ({"type": "trajectory", "tools": ["a", "b"], "mode": "unordered"}, {"tools": ("b", "a")}, True),
        ({"type": "trajectory", "tools": ["a", "b"], "mode": "unordered"}, {"tools": ("b", "a", "a")}, False),
        ({"type": "trajectory", "tools": ["a", "b"], "mode": "subset"}, {"tools": ("b",)}, True),
        ({"type": "trajectory", "tools": ["a", "b"], "mode": "subset"}, {"tools": ("b", "b")}, False),
        ({"type": "trajectory", "tools": ["a"], "mode": "subset"}, {"tools": ()}, True),
        ({"type": "trajectory", "tools": ["a"], "mode": "superset"}, {"tools": ("b", "a")}, True),
        ({"type": "trajectory", "tools": ["a", "a"], "mode": "superset"}, {"tools": ("b", "a")}, False),
        ({"type": "trajectory", "tools": [], "mode": "strict"}, {"tools": ()}, True),
        ({"type": "trajectory", "tools": [], "mode": "strict"}, {}, None),
        ({"type": "similarity", "method": "jaccard", "min": 0.5, "text": "refunds take"}, {}, True),
        ({"type": "similarity", "method": "jaccard", "min": 0.51, "text": "refunds take"}, {}, False),
        ({"type": "similarity", "method": "rouge-l", "min": 1}, {"expected": "Refunds take 30 days"}, True),
        ({"type": "similarity", "method": "rouge-l", "min": 0.1}, {"expected": "nothing alike"}, False),
        ({"type": "similarity", "method": "rouge-l", "min": 0}, {}, None),
        ({"type": "similarity", "method": "jaccard", "min": 0, "text": "a"}, {"text": "a " * 20_001}, None),
        ({"type": "latency", "maxMs": 100}, {"duration_ms": 100}, True),
        ({"type": "latency", "maxMs": 100}, {"duration_ms": 101}, False),
        ({"type": "latency", "maxMs": 100}, {}, None),
        ({"type": "cost", "maxUsd": 0.1}, {"cost_usd": Decimal("0.1")}, True),
        ({"type": "cost", "maxUsd": 0.1}, {"cost_usd": Decimal("0.100000001")}, False),
        ({"type": "cost", "maxUsd": 0}, {}, None),
    ],
)
def test_check(check: dict[str, Any], answered: dict[str, Any], passed: bool | None) -> None:
    result = outcome(check, **answered)
    assert result.passed is passed
    assert result.detail


def test_result_names_its_check() -> None:
    result = outcome({"type": "latency", "maxMs": 1, "id": "quick", "mustPass": True}, duration_ms=5)
    assert (result.id, result.type, result.must_pass) == ("quick", "latency", True)
    assert result.detail == "Took 5 ms; at most 1 are allowed."


@pytest.mark.parametrize(
    ("check", "path"),
    [
        ({"type": "contains"}, "[0].text"),
        ({"type": "contains", "text": ""}, "[0].text"),
        ({"type": "contains", "text": "a", "ignore_case": True}, "[0].ignore_case"),
        ({"type": "regex", "pattern": "("}, "[0].pattern"),
        ({"type": "json_schema", "schema": {"type": "no"}}, "[0].schema"),
        ({"type": "trajectory", "tools": ["a"], "mode": "loose"}, "[0].mode"),
        ({"type": "similarity", "method": "jaccard", "min": 1.01}, "[0].min"),
        ({"type": "similarity", "method": "jaccard", "min": "0.5"}, "[0].min"),
        ({"type": "latency", "maxMs": 0}, "[0].maxMs"),
        ({"type": "latency", "maxMs": True}, "[0].maxMs"),
        ({"type": "cost", "maxUsd": -1}, "[0].maxUsd"),
        ({"type": "eval", "code": "1"}, "[0]"),
        ({}, "[0]"),
    ],
)
def test_check_that_is_wrong_is_refused_where_it_is_wrong(check: dict[str, Any], path: str) -> None:
    with pytest.raises(CheckRefused) as refused:
        read_checks([check])
    assert refused.value.path == path


def test_too_many_checks_are_refused() -> None:
    check = {"type": "contains", "text": "a"}
    assert len(read_checks([check] * MAX_CHECKS)) == MAX_CHECKS
    with pytest.raises(CheckRefused):
        read_checks([check] * (MAX_CHECKS + 1))


def must(*outcomes: bool | None, must_pass: bool = True) -> list[CheckResult]:
    return [CheckResult(id=None, type="x", passed=each, must_pass=must_pass, detail="d") for each in outcomes]


@pytest.mark.parametrize(
    ("results", "rating"),
    [
        ([], 8),
        (must(True), 8),
        (must(True, False), 0),
        (must(True, None), None),
        (must(None, False), 0),
        (must(False, None, must_pass=False), 8),
    ],
)
def test_checks_that_must_pass_decide_the_rating(results: list[CheckResult], rating: int | None) -> None:
    assert rating_after(Decimal(8), results) == rating


def test_judge_that_could_not_be_read_stays_unread_unless_a_check_decides() -> None:
    assert rating_after(None, must(True)) is None
    assert rating_after(None, must(False)) == 0
