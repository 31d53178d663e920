"""Errors, and the page that lists them."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from parley.engine.chat.faults import FaultCode
from parley.engine.ports import StopCode
from parley.server import errors
from parley.server.errors import InvalidRequest, ServerError, Unavailable, answers

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "errors.md"


def rows() -> dict[str, str]:
    """The page's table lines by code."""
    found: dict[str, str] = {}
    for line in PAGE.read_text().splitlines():
        if line.startswith("| `"):
            found.setdefault(line.split("`")[1], line)
    return found


def test_page_lists_every_answer_with_status_and_meaning() -> None:
    for kind in answers():
        line = rows().get(kind.code)
        assert line is not None, f"{kind.code} is not on the page"
        assert f"| {kind.status} |" in line
        assert (kind.__doc__ or "").splitlines()[0] in line


def test_page_lists_every_code_a_run_can_end_with() -> None:
    for code in (*get_args(FaultCode), *get_args(StopCode)):
        assert code in rows(), f"{code} is not on the page"


def test_page_lists_nothing_that_does_not_exist() -> None:
    in_contract = {
        "gateway_inference",
        "user_inference",
        "judge_analysis",
        "resource_unavailable",
        "worker_lost",
    }
    known = (
        {kind.code for kind in answers()} | set(get_args(FaultCode)) | set(get_args(StopCode)) | in_contract
    )
    assert set(rows()) <= known | {"validation_hook_interrupted"}


def test_codes_are_unique_and_every_answer_has_a_sentence() -> None:
    kinds = list(answers())
    assert len({kind.code for kind in kinds}) == len(kinds)
    for kind in kinds:
        assert kind.message.endswith((".", "...'.")), kind
        assert 400 <= kind.status < 600
        assert kind.__doc__


def test_tree_at_the_top_of_the_file_is_the_tree() -> None:
    drawn = errors.__doc__ or ""
    for kind in answers():
        assert kind.__name__ in drawn
        assert kind.code in drawn


def test_unavailable_always_says_when_to_come_back() -> None:
    for kind in answers():
        if issubclass(kind, Unavailable):
            assert int(kind().headers()["Retry-After"]) >= 1


def test_retry_after_is_at_least_a_second() -> None:
    assert errors.QuotaExhausted(retry_after_s=0).headers() == {"Retry-After": "1"}


def test_faults_are_listed_and_the_first_is_said() -> None:
    error = InvalidRequest.faults([("a.b", "is wrong"), ("", "is odd")])
    assert error.details == [{"field": "a.b", "problem": "is wrong"}, {"field": "", "problem": "is odd"}]
    assert error.text == "The request is not valid: a.b: is wrong (and 1 more)."


@pytest.mark.parametrize("kind", list(answers()))
def test_error_carries_what_it_was_given(kind: type[ServerError]) -> None:
    error = kind("told", details={"a": 1})
    assert (error.text, error.details, str(error)) == ("told", {"a": 1}, "told")
