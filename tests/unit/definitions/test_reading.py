"""How a body is read: all faults at once, exact decimals, changes, the direct evaluation's body."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.server.definitions.body import read_json
from parley.server.definitions.faults import DefinitionRefused
from parley.server.definitions.read import read_change, read_definition, read_direct
from parley.server.definitions.schemas import stored

LEAST: dict[str, Any] = {"name": "Refund", "gateway": "shop:1a2b", "goal": "Get a refund"}


def refused(read: Any, *arguments: Any) -> dict[str, str]:
    with pytest.raises(DefinitionRefused) as caught:
        read(*arguments)
    return {fault.field: fault.problem for fault in caught.value.faults}


def with_text(field: str, text: str) -> bytes:
    return (json.dumps(LEAST)[:-1] + f', "{field}": {text}}}').encode()


def test_all_faults_are_told_at_once_also_those_between_fields() -> None:
    body = {
        "name": "",
        "gateway": "shop",
        "max_turns": 4,
        "minimum_turns": 4,
        "judge_start_turn": 5,
        "loss_threshold": 0.5,
        "base_threshold": 0.6,
        "user_sampling": {"top_k": 3, "topk": 1},
        "hooks": [{"event": "sometimes", "url": "nowhere"}],
        "maxturns": 5,
    }
    assert set(refused(read_definition, body)) == {
        "name",
        "goal",
        "minimum_turns",
        "judge_start_turn",
        "base_threshold",
        "user_sampling.top_k",
        "user_sampling.topk",
        "hooks.0.event",
        "hooks.0.url",
        "maxturns",
    }


def test_rule_is_silent_while_a_field_it_compares_is_broken() -> None:
    assert set(refused(read_definition, LEAST | {"max_turns": "4", "minimum_turns": 9})) == {"max_turns"}


@pytest.mark.parametrize(
    ("body", "field", "near"),
    [
        ({"maxturns": 5}, "maxturns", "max_turns"),
        ({"user_sampling": {"topk": 1}}, "user_sampling.topk", "top_k"),
        ({"start": [{"role": "user", "content": "Hi", "nam": "x"}]}, "start.0.nam", "name"),
        (
            {"hooks": [{"event": "after-test", "url": "https://a.example", "events": 1}]},
            "hooks.0.events",
            "event",
        ),
    ],
)
def test_unknown_field_is_refused_with_the_nearest_known_name(
    body: dict[str, Any], field: str, near: str
) -> None:
    assert refused(read_definition, LEAST | body) == {field: f"is not a known field; did you mean '{near}'?"}


def test_unknown_field_without_a_near_name_gets_no_guess() -> None:
    assert refused(read_definition, LEAST | {"zzz": 1}) == {"zzz": "is not a known field"}


def test_null_for_a_field_that_has_none_says_so() -> None:
    body = LEAST | {"max_turns": None, "profile": None, "metadata": None, "base_threshold": None}
    problems = refused(read_definition, body)
    assert problems["max_turns"] == problems["profile"] == problems["metadata"] == "must not be null"


@pytest.mark.parametrize("field", ["name", "goal", "external_user_id", "metadata.key"])
@pytest.mark.parametrize("bad", ["a\x00b", "\ud800", "x\udfff"])
def test_text_that_cannot_be_stored_is_refused_where_it_stands(field: str, bad: str) -> None:
    name, _, below = field.partition(".")
    body = LEAST | {name: {below: bad} if below else bad}
    raw = json.dumps(body).encode()
    problems = refused(lambda: read_definition(read_json(raw)))
    assert problems == {field: "must not contain a NUL character or half of a surrogate pair"}


def test_unfit_text_is_found_in_names_mocks_and_start_lines() -> None:
    body = LEAST | {
        "metadata": {"a\x00": "b"},
        "tool_mocks": [{"name": "f", "result": "", "match": {"deep": [{"x": "\x00"}]}}],
        "start": [{"role": "user", "content": [{"type": "text", "text": "\ud800"}]}],
    }
    assert set(refused(read_definition, body)) == {
        "metadata",
        "tool_mocks.0.match.deep.0.x",
        "start.0.content.0.text",
    }


def test_unfit_name_of_an_unknown_field_is_not_echoed() -> None:
    problems = refused(read_definition, LEAST | {"a\ud800": 1, "user_sampling": {"b\x00": 1}})
    assert set(problems) == {"", "user_sampling"}


def test_very_long_unknown_name_is_told_in_part() -> None:
    (field,) = refused(read_definition, LEAST | {"n" * 100_000: 1})
    assert field == "n" * 100


@pytest.mark.parametrize(
    "body",
    [
        {str(number): 1 for number in range(80_000)},
        {"metadata": {str(number): 1 for number in range(80_000)}},
        {"goal": [1] * 300_000},
        {"start": [{"role": "user", "content": [1] * 3_000}] * 100},
    ],
    ids=["names", "metadata", "goal", "start"],
)
def test_body_with_countless_faults_is_refused_without_naming_them(body: dict[str, Any]) -> None:
    assert refused(read_definition, body) == {"": "has more than 1,000 faults"}


def test_countless_unfit_texts_and_repeated_names_are_told_up_to_a_bound() -> None:
    assert (
        len(refused(read_definition, LEAST | {"metadata": {str(n): "\x00" for n in range(5_000)}})) <= 1_001
    )
    pairs = ",".join(f'"{n}":1,"{n}":2' for n in range(40_000))
    assert len(refused(read_json, f"{{{pairs}}}".encode())) == 1_000


def test_body_nested_too_deep_is_refused() -> None:
    deep: Any = 1
    for _ in range(70):
        deep = [deep]
    mock = {"name": "f", "result": "", "match": {"x": deep}}
    assert "nested deeper" in refused(read_definition, LEAST | {"tool_mocks": [mock]})["tool_mocks.0"]


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"{", "is not JSON"),
        (b"", "is empty; send a JSON object"),
        (b"\xff", "is not UTF-8"),
        (b'{"seed": NaN}', "holds NaN"),
        (b'{"seed": -Infinity}', "holds -Infinity"),
        (b"[" * 100_000, "is nested deeper"),
        (b'{"seed": ' + b"1" * 5_000 + b"}", "too many digits"),
    ],
)
def test_text_that_is_no_json_is_refused(raw: bytes, problem: str) -> None:
    assert problem in refused(read_json, raw)[""]


def test_name_given_twice_is_refused() -> None:
    assert refused(read_json, b'{"goal": "a", "goal": "b"}') == {"goal": "is given twice"}


@pytest.mark.parametrize("body", [[], "x", 1, None, True])
def test_body_that_is_no_object_is_refused(body: object) -> None:
    assert refused(read_definition, body) == {"": "must be a JSON object"}
    assert refused(read_direct, body) == {"": "must be a JSON object"}
    assert refused(read_change, body, stored(read_definition(LEAST))) == {"": "must be a JSON object"}


@pytest.mark.parametrize(
    ("loss", "base", "apart"),
    [
        ("0.2", "0.3", False),
        ("0.2", "0.30", False),
        ("0.2", "0.31", True),
        ("0.2", "0.300000001", True),
        ("0.7", "0.8", False),
        ("0.1", "0.2", False),
        ("0.2", "0.30000000000000004", True),
        ("0.3", "0.4", False),
        ("0.3", "0.4000000000000001", True),
        ("0.5", "0.4", False),
    ],
)
def test_thresholds_are_compared_as_the_decimals_that_were_written(loss: str, base: str, apart: bool) -> None:
    raw = (json.dumps(LEAST)[:-1] + f', "loss_threshold": {loss}, "base_threshold": {base}}}').encode()
    if apart:
        read = read_definition(read_json(raw))
        assert (read.loss_threshold, read.base_threshold) == (Decimal(loss), Decimal(base))
    else:
        assert "more than 0.1" in refused(lambda: read_definition(read_json(raw)))["base_threshold"]


@given(hundredths=st.tuples(st.integers(1, 99), st.integers(1, 99)))
def test_thresholds_of_two_places_obey_integer_arithmetic(hundredths: tuple[int, int]) -> None:
    loss, base = hundredths
    raw = json.dumps(LEAST | {"loss_threshold": loss / 100, "base_threshold": base / 100}).encode()
    try:
        read_definition(read_json(raw))
        accepted = True
    except DefinitionRefused:
        accepted = False
    assert accepted == (base - loss > 10)


def test_decimal_that_json_readers_would_change_is_refused_not_rounded() -> None:
    problems = refused(
        lambda: read_definition(read_json(with_text("loss_threshold", "0.19999999999999999999")))
    )
    assert "more digits" in problems["loss_threshold"]


@given(st.floats(0.01, 0.79))
def test_every_double_in_bounds_is_a_threshold(loss: float) -> None:
    if Decimal("0.9") - Decimal(repr(loss)) > Decimal("0.1"):
        read = read_definition(read_json(json.dumps(LEAST | {"loss_threshold": loss}).encode()))
        assert stored(read)["loss_threshold"] == loss


def test_change_touches_only_what_is_sent() -> None:
    before = stored(read_definition(LEAST | {"max_turns": 20, "metadata": {"a": "b"}, "seed": 4}))
    assert stored(read_change({"goal": "Another"}, before)) == before | {"goal": "Another"}


def test_change_replaces_objects_merges_sampling_and_clears_by_null() -> None:
    before = stored(
        read_definition(
            LEAST | {"metadata": {"a": "b"}, "seed": 4, "user_sampling": {"top_k": 1, "max_decay": 0.5}}
        )
    )
    after = stored(read_change({"metadata": {"c": "d"}, "seed": None, "user_sampling": {"top_k": 2}}, before))
    assert after["metadata"] == {"c": "d"}
    assert after["seed"] is None
    assert after["user_sampling"] == {"top_k": 2.0, "max_decay": 0.5}


def test_change_is_checked_against_what_it_is_merged_with() -> None:
    before = stored(read_definition(LEAST | {"minimum_turns": 8}))
    assert set(refused(read_change, {"max_turns": 8}, before)) == {"minimum_turns"}
    assert set(refused(read_change, {"loss_threshold": 0.8}, before)) == {"base_threshold"}
    assert set(refused(read_change, {"name": None, "mxturns": 1}, before)) == {"name", "mxturns"}


def test_inference_hooks_want_a_gateway() -> None:
    hooks = [
        {"event": event, "url": "https://example.com"}
        for event in ("before-test", "before-inference", "after-inference", "context-changed", "after-test")
    ]
    assert set(refused(read_definition, LEAST | {"gateway": "@vendor/name", "hooks": hooks})) == {
        "hooks.1.event",
        "hooks.2.event",
        "hooks.3.event",
    }


DIRECT: dict[str, Any] = {"model": "shop:1a2b", "goal": "Get a refund"}


def test_direct_body_takes_the_evaluated_fields() -> None:
    read = read_direct(DIRECT | {"max_turns": 3, "seed": 5, "stream": "ignored", "user": "u-1"})
    assert (read.model, read.max_turns, read.seed, read.external_user_id) == ("shop:1a2b", 3, 5, "u-1")


@pytest.mark.parametrize(
    "field", ["name", "gateway", "hooks", "cron", "enabled", "failure_notification", "notification_threshold"]
)
def test_direct_body_refuses_fields_of_stored_tests(field: str) -> None:
    assert set(refused(read_direct, DIRECT | {field: "x"})) == {field}


def test_direct_body_wants_a_model() -> None:
    assert refused(read_direct, {"goal": "x"}) == {"model": "is required"}


def test_user_may_repeat_but_not_contradict_external_user_id() -> None:
    assert read_direct(DIRECT | {"user": "a", "external_user_id": "a"}).external_user_id == "a"
    assert set(refused(read_direct, DIRECT | {"user": "a", "external_user_id": "b"})) == {"user"}


def test_fault_of_the_alias_is_told_by_the_name_that_was_sent() -> None:
    assert set(refused(read_direct, DIRECT | {"user": 5})) == {"user"}
