"""Which replies of a judge are read as an opinion, and which are asked for again."""

from __future__ import annotations

import contextlib
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parley.engine.chat.pieces import FinishReason
from parley.engine.judging.opinion import MAX_CHARS, OpinionUnreadable, ReadOpinion, read_opinion

GOOD = '{"reasoning": "It was solved.", "score": 0.8}'
OTHER = '{"reasoning": "It was not.", "score": 0.1}'
SOLVED = ReadOpinion(reasoning="It was solved.", score=Decimal("0.8"))


def read(text: str, finish_reason: FinishReason = "stop", *, refused: bool = False) -> ReadOpinion:
    return read_opinion(text, finish_reason, refused)


def code_of(text: str, finish_reason: FinishReason = "stop", *, refused: bool = False) -> str:
    with pytest.raises(OpinionUnreadable) as caught:
        read(text, finish_reason, refused=refused)
    assert caught.value.problem == str(caught.value)
    assert caught.value.problem.endswith(".")
    return caught.value.code


ACCEPTED = {
    "strict JSON": GOOD,
    "white space around": f"\n\n  {GOOD}  \n",
    "score first": '{"score": 0.8, "reasoning": "It was solved."}',
    "C025 fence": f"```json\n{GOOD}\n```",
    "C025 fence without a language": f"```\n{GOOD}\n```",
    "C026 sentence before": f"Here is my opinion:\n{GOOD}",
    "C026 sentence behind": f"{GOOD}\nI hope that helps.",
    "C026 braces in prose": f"I looked at {{the talk}} and {{ this }}. {GOOD} {{done}}",
    "C026 an object that is no opinion": f'The tool gave {{"order": 7}} and {{}}. {GOOD}',
    "C028 equal twice": f"{GOOD}\n\nAs JSON:\n```json\n{GOOD}\n```",
    "C028 equal in value": f'{GOOD} {{"score":"0.80","reasoning":"It was solved."}}',
    "C030 quoted number": '{"reasoning": "It was solved.", "score": "0.8"}',
    "C030 quoted number with spaces": '{"reasoning": "It was solved.", "score": " 0.80 "}',
    "exponent": '{"reasoning": "It was solved.", "score": 8e-1}',
    "C045 other keys are ignored": (
        '{"reasoning": "It was solved.", "score": 0.8, "pass": false, "should_continue": true, "x": [1, {}]}'
    ),
    "thinking before": f"<think>Perhaps {OTHER}? No.</think>{GOOD}",
    "thinking in other tags": f"<Thinking>{OTHER}</THINKING >\n<reasoning>{OTHER}</reasoning>{GOOD}",
    "thinking opened in the prompt": f"Perhaps {OTHER}? No.</think>\n{GOOD}",
    "thinking with broken JSON": f'<think>{{"reasoning": </think>{GOOD}',
    "thinking behind, never closed": '{"score": 0.8, "reasoning": "It was solved."}<think>fine',
}


@pytest.mark.parametrize("text", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_one_clear_opinion_is_read(text: str) -> None:
    assert read(text) == SOLVED


def test_tags_and_braces_inside_of_the_reasoning_are_its_words() -> None:
    reasoning = 'It wrote </think> <think> and {"score": 1.0} in its answer.'
    assert read(json.dumps({"reasoning": reasoning, "score": 0.1})).reasoning == reasoning


def test_a_line_break_inside_of_the_reasoning_is_let_pass() -> None:
    assert read('{"reasoning": "One.\nTwo.", "score": 0.5}').reasoning == "One.\nTwo."


REFUSED = {
    "nothing": ("", "opinion_empty"),
    "blank": (" \n\u200b\u2060", "opinion_empty"),
    "C042 prose": ("The assistant did well, I give 0.8 of 1.", "opinion_without_object"),
    "array": ("[0.8]", "opinion_without_object"),
    "number": ("0.8", "opinion_without_object"),
    "no opinion among the objects": ('{"order": 7} {}', "opinion_without_object"),
    "nested opinion": (f'{{"result": {GOOD}}}', "opinion_without_object"),
    "opinion in a string": (json.dumps(GOOD), "opinion_without_object"),
    "single quotes": ("{'reasoning': 'a', 'score': 0.8}", "opinion_without_object"),
    "only thought": (f"<think>{GOOD}", "opinion_without_object"),
    "thought that ends too late": (f"{GOOD}</think>", "opinion_without_object"),
    "C028 two that differ": (f"{OTHER}\n{GOOD}", "opinion_ambiguous"),
    "C028 same score, other reasons": (f'{GOOD} {{"reasoning": "x", "score": 0.8}}', "opinion_ambiguous"),
    "C028 same reasons, other score": (
        f'{GOOD} {{"reasoning": "It was solved.", "score": 0.7}}',
        "opinion_ambiguous",
    ),
    "C028 third one differs": (f"{GOOD} {GOOD} {OTHER}", "opinion_ambiguous"),
    "C028 quotes a bare score": (f'It said {{"score": 1.0}}. {OTHER}', "opinion_incomplete"),
    "C028 quotes bare reasons": (f'{OTHER} {{"reasoning": "I am great"}}', "opinion_incomplete"),
    "repeated key": ('{"reasoning": "a", "score": 0.1, "score": 0.9}', "opinion_malformed"),
    "repeated key, same value": ('{"reasoning": "a", "score": 0.1, "score": 0.1}', "opinion_malformed"),
    "repeated key below": ('{"reasoning": "a", "score": 0.1, "x": {"y": 1, "y": 2}}', "opinion_malformed"),
    "C033 true": ('{"reasoning": "a", "score": true}', "opinion_incomplete"),
    "C033 false": ('{"reasoning": "a", "score": false}', "opinion_incomplete"),
    "C034 score missing": ('{"reasoning": "a"}', "opinion_incomplete"),
    "C034 score null": ('{"reasoning": "a", "score": null}', "opinion_incomplete"),
    "C034 reasoning missing": ('{"score": 0.5}', "opinion_incomplete"),
    "C034 reasoning null": ('{"reasoning": null, "score": 0.5}', "opinion_incomplete"),
    "C034 reasoning empty": ('{"reasoning": "", "score": 0.5}', "opinion_incomplete"),
    "C034 reasoning blank": ('{"reasoning": " \\n\\u200b", "score": 0.5}', "opinion_incomplete"),
    "reasoning is a list": ('{"reasoning": ["a"], "score": 0.5}', "opinion_incomplete"),
    "score is a list": ('{"reasoning": "a", "score": [0.5]}', "opinion_incomplete"),
    "score is an object": ('{"reasoning": "a", "score": {"value": 0.5}}', "opinion_incomplete"),
    "C097 NaN": ('{"reasoning": "a", "score": NaN}', "opinion_malformed"),
    "C097 infinity": ('{"reasoning": "a", "score": Infinity}', "opinion_malformed"),
    "C097 minus infinity": ('{"reasoning": "a", "score": -Infinity}', "opinion_malformed"),
    "C097 too large for a float": ('{"reasoning": "a", "score": 1e400}', "opinion_out_of_range"),
    "exponent too large for a decimal": (
        '{"reasoning": "a", "score": 1e9999999999999999999}',
        "opinion_malformed",
    ),
    "C030 quoted NaN": ('{"reasoning": "a", "score": "NaN"}', "opinion_incomplete"),
    "C030 quoted infinity": ('{"reasoning": "a", "score": "inf"}', "opinion_incomplete"),
    "C030 percent": ('{"reasoning": "a", "score": "80%"}', "opinion_incomplete"),
    "C030 fraction": ('{"reasoning": "a", "score": "4/5"}', "opinion_incomplete"),
    "C030 comma": ('{"reasoning": "a", "score": "0,8"}', "opinion_incomplete"),
    "C030 exponent in quotes": ('{"reasoning": "a", "score": "8e-1"}', "opinion_incomplete"),
    "C030 other digits": ('{"reasoning": "a", "score": "\u0660.\u0668"}', "opinion_incomplete"),
    "C030 quoted, empty": ('{"reasoning": "a", "score": ""}', "opinion_incomplete"),
    "C030 quoted, out of range": ('{"reasoning": "a", "score": "8"}', "opinion_out_of_range"),
    "below zero": ('{"reasoning": "a", "score": -0.01}', "opinion_out_of_range"),
    "above one": (
        '{"reasoning": "a", "score": 1.0000000000000000000000000000000000001}',
        "opinion_out_of_range",
    ),
    "out of ten": ('{"reasoning": "a", "score": 8}', "opinion_out_of_range"),
    "cut JSON": ('{"reasoning": "It was so', "opinion_malformed"),
    "cut behind a whole inner object": (f'{{"a": {GOOD}, "fin', "opinion_malformed"),
    "broken JSON before a good one": (f'{{"reasoning": "a", score: 0.1}} {GOOD}', "opinion_malformed"),
    "leading zero": ('{"reasoning": "a", "score": 00.8}', "opinion_malformed"),
    "nested too deeply": ('{"a":' * 30_000, "opinion_malformed"),
    "lists nested too deeply": ('{"a":' + "[" * 100_000, "opinion_malformed"),
    "too long": (GOOD + " " * (MAX_CHARS + 1 - len(GOOD)), "opinion_too_long"),
}


@pytest.mark.parametrize(("text", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_anything_in_doubt_is_refused(text: str, code: str) -> None:
    assert code_of(text) == code


def test_longest_reply_is_still_read() -> None:
    assert read(GOOD + " " * (MAX_CHARS - len(GOOD))) == SOLVED


@pytest.mark.parametrize(
    ("raw", "score"),
    [("0", "0"), ("0.0", "0"), ("-0", "0"), ("-0.0", "0"), ("1e-999999999", "0"), ("1", "1"), ("1.0", "1")],
)
def test_both_ends_of_the_range_are_scores(raw: str, score: str) -> None:
    got = read(f'{{"reasoning": "a", "score": {raw}}}').score
    assert got == Decimal(score)
    assert not got.is_signed()


@pytest.mark.parametrize("score", ["0", "1", "0.999"])
def test_quoted_score_keeps_its_digits(score: str) -> None:
    assert read(f'{{"reasoning": "a", "score": "{score}"}}').score == Decimal(score)


def test_score_is_the_decimal_that_was_written() -> None:
    assert str(read('{"reasoning": "a", "score": 0.1}').score) == "0.1"
    assert str(read('{"reasoning": "a", "score": 0.12345678901234567890123456789}').score) == (
        "0.1234567890123456789012345679"
    )


def test_reply_cut_by_its_length_is_refused_even_if_it_can_be_read() -> None:
    assert code_of(GOOD, "length") == "opinion_cut"


def test_refusals_are_not_scores() -> None:
    """C037: refused by the llm or stopped by a filter; whatever else was said does not count."""
    assert code_of(GOOD, refused=True) == "opinion_refused"
    assert code_of("", "length", refused=True) == "opinion_refused"
    assert code_of(GOOD, "content_filter") == "opinion_refused"
    assert code_of("", "content_filter") == "opinion_refused"


@pytest.mark.parametrize("finish_reason", ["stop", "tool_calls", "unknown"])
def test_other_ends_of_a_stream_do_not_matter(finish_reason: FinishReason) -> None:
    assert read(GOOD, finish_reason) == SOLVED


def test_what_cannot_be_stored_is_cleaned_out_of_the_reasoning() -> None:
    got = read('{"reasoning": "a\\u0000b\\ud800c\\ud83d\\ude00", "score": 0.5}').reasoning
    assert got == "a\ufffdb\ufffdc\U0001f600"


HOSTILE = {
    "open braces": '{"' * (MAX_CHARS // 2),
    "open braces with spaces": "{ " * (MAX_CHARS // 2),
    "brace and spaces": "{" + " " * (MAX_CHARS - 1),
    "think tags": "<think>" * (MAX_CHARS // 7),
    "closing tags": "</think>" * (MAX_CHARS // 8),
    "pairs of tags": "<think></think>" * (MAX_CHARS // 15),
    "objects": '{"a":1}' * (MAX_CHARS // 7),
    "backslashes": '{"reasoning":"' + "\\" * (MAX_CHARS - 20),
    "digits": '{"reasoning":"a","score":' + "1" * (MAX_CHARS - 30) + "}",
    "decimals": '{"reasoning":"a","score":0.' + "1" * (MAX_CHARS - 30) + "5",
    "opinions": GOOD * (MAX_CHARS // len(GOOD)),
}


@pytest.mark.timeout(10)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_work_on_hostile_replies_is_bounded(text: str) -> None:
    """Each takes milliseconds; work that grew with the square of the length would take minutes."""
    with contextlib.suppress(OpinionUnreadable):
        read(text)


WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)
SCORES = st.decimals(0, 1, places=3)


@settings(deadline=None)
@given(
    reasoning=WORDS.map(lambda text: f"x{text}"),
    score=SCORES,
    quoted=st.booleans(),
    indent=st.none() | st.just(2),
)
def test_whatever_a_judge_means_comes_back(
    reasoning: str, score: Decimal, quoted: bool, indent: int | None
) -> None:
    raw = f'"{score}"' if quoted else str(score)
    text = json.dumps({"reasoning": reasoning, "score": "SCORE"}, indent=indent, ensure_ascii=False)
    got = read(text.replace('"SCORE"', raw))
    assert got == ReadOpinion(reasoning=reasoning.replace("\x00", "\ufffd"), score=score)


SNIPPETS = st.sampled_from(
    [
        GOOD,
        OTHER,
        '{"',
        "{",
        "}",
        '"score":',
        '"reasoning":',
        ":",
        "NaN",
        "1e999",
        "<think>",
        "</think>",
        "```",
        "\\",
        "null",
        ",",
        '"',
        "0.5",
        "[",
        "\ud800",
        "\x00",
    ]
)


@settings(deadline=None)
@given(text=st.text() | st.lists(SNIPPETS | st.text(max_size=5), max_size=12).map("".join))
def test_arbitrary_text_is_an_opinion_in_range_or_unreadable(text: str) -> None:
    try:
        got = read(text)
    except OpinionUnreadable:
        return
    assert got.score.is_finite()
    assert 0 <= got.score <= 1
    assert got.reasoning.strip()


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None)
@given(reasoning=JSON, score=JSON)
def test_only_a_text_and_a_number_in_range_are_taken(reasoning: Any, score: Any) -> None:
    text = json.dumps({"reasoning": reasoning, "score": score})
    is_number = isinstance(score, int | float) and not isinstance(score, bool)
    try:
        got = read(text)
    except OpinionUnreadable:
        assert not (isinstance(reasoning, str) and reasoning.isalnum() and is_number and 0 <= score <= 1)
        return
    assert isinstance(reasoning, str)
    assert isinstance(score, str) or (is_number and 0 <= score <= 1)
    assert got.score == Decimal(str(score))
