"""A judge's answer is a verdict or nothing: there is no nonsense that passes or fails a criterion."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.engine.script.quotes import Said
from parley.engine.script.verdict import Verdict, VerdictUnreadable, read_verdict

GOOD = {"passed": True, "reason": "It is said.", "evidence": ["14 days"]}
PASSED = Verdict(passed=True, reason="It is said.", quotes=("14 days",))


@pytest.mark.parametrize(
    "answer",
    [
        GOOD,
        json.dumps(GOOD),
        f"```json\n{json.dumps(GOOD)}\n```",
        f"Here it is: {json.dumps(GOOD)} I hope that helps.",
        f'<think>perhaps {{"passed": false}}</think>{json.dumps(GOOD)}',
        f"{json.dumps(GOOD)}\n{json.dumps(GOOD)}",
    ],
)
def test_verdict_is_read(answer: object) -> None:
    assert read_verdict(answer) == PASSED


def test_inconclusive_is_no_verdict_and_no_error() -> None:
    read = read_verdict({"inconclusive": True, "reason": "No tool result."})
    assert read == Verdict(passed=None, reason="No tool result.")


@pytest.mark.parametrize(
    "answer",
    [
        None, True, 1, [], [GOOD], {}, "", "  ", "passed", "PASS", "true", "{}", "[]",
        {**GOOD, "passed": "true"}, {**GOOD, "passed": 1}, {**GOOD, "passed": None},
        {**GOOD, "reason": ""}, {**GOOD, "reason": None}, {**GOOD, "evidence": "14 days"},
        {**GOOD, "evidence": [1]}, {**GOOD, "evidence": ["x"] * 51}, {**GOOD, "score": 1},
        {"passed": True, "reason": "x"}, {"passed": True, "evidence": []}, {"verdict": "pass", "reason": "x"},
        {"inconclusive": False, "reason": "x"}, {"inconclusive": "true", "reason": "x"},
        {"inconclusive": True}, {**GOOD, "inconclusive": True}, {**GOOD, "reason": float("nan")},
        json.dumps(GOOD)[:-1], '{"passed": true, "passed": false, "reason": "x", "evidence": []}',
        json.dumps(GOOD) + json.dumps({**GOOD, "passed": False}), "x" * 200_001,
        '{"passed": NaN, "reason": "x", "evidence": []}', "{" * 50_000, object(),
    ],
)  # fmt: skip
def test_nonsense_is_no_verdict(answer: object) -> None:
    with pytest.raises(VerdictUnreadable) as unreadable:
        read_verdict(answer)
    assert unreadable.value.problem.endswith(".")


@given(
    st.text()
    | st.dictionaries(st.sampled_from(["passed", "reason", "evidence", "x"]), st.none() | st.booleans())
)
def test_nothing_else_is_ever_raised(answer: Any) -> None:
    with pytest.raises(VerdictUnreadable):
        read_verdict(answer)


SHOWN: list[Any] = [
    {"message": "Where is order 17?"},
    {
        "text": 'He said "it\u2019s on\nits way" \u2013 today.',
        "events": [{"result": {"eta": "2026-12-01", "n": 14}}],
    },
]


@pytest.mark.parametrize(
    "quote",
    [
        "Where is order 17?",
        "where IS order 17",
        '"it\'s on its way"',
        "He said … today.",
        "He said [...] way",
        '{"eta": "2026-12-01"',
        "2026-12-01",
        '"eta": "2026-12-01"',
        "it's on its way\" - today",
    ],
)
def test_what_was_said_is_found(quote: str) -> None:
    assert Said(SHOWN).has(quote)


@pytest.mark.parametrize(
    "quote",
    ["", " ", "...", '""', "order 18", "He said it arrived", "today ... He said", "order 17? He said"],
)
def test_what_was_never_said_is_not_found(quote: str) -> None:
    assert not Said(SHOWN).has(quote)
