"""Every bound of a definition, from both sides."""

from __future__ import annotations

import json
from typing import Any

import pytest

from parley.server.definitions.body import read_json
from parley.server.definitions.faults import DefinitionRefused
from parley.server.definitions.read import read_definition
from parley.server.definitions.schemas import stored

LEAST: dict[str, Any] = {"name": "Refund", "gateway": "shop:1a2b", "goal": "Get a refund"}


def text_part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def hook(url: str = "https://example.com/hook", event: str = "before-test") -> dict[str, str]:
    return {"event": event, "url": url}


def mock(**other: Any) -> dict[str, Any]:
    return {"name": "find_order", "result": "{}"} | other


def faults_of(raw: object) -> list[tuple[str, str]]:
    try:
        read_definition(read_json(json.dumps(raw).encode()))
    except DefinitionRefused as refused:
        return [(fault.field, fault.problem) for fault in refused.faults]
    return []


ACCEPTED: list[tuple[str, Any]] = [
    ("name", "n"),
    ("name", "n" * 200),
    ("gateway", "g" * 200),
    ("gateway", "@vendor/name"),
    ("goal", "x" * 32_000),
    ("goal", text_part("x" * 32_000)),
    ("goal", [text_part("x" * 16_000), text_part("y" * 16_000)]),
    ("goal", [text_part(""), text_part("y")]),
    ("validation_criteria", None),
    ("validation_criteria", "x" * 32_000),
    ("validation_criteria", [text_part("Polite")]),
    ("start", []),
    ("start", [{"role": "user", "content": "Hi"}] * 100),
    ("resources", []),
    ("resources", [{"type": "Text", "data": "x"}] * 16),
    ("resources", [{"type": "RemoteResource", "data": "https://example.com/terms.txt"}]),
    ("hooks", [hook()] * 20),
    ("hooks", [hook("https://example.com/" + "a" * 2028)]),
    *[("hooks", [hook(event=event)]) for event in ("before-inference", "after-inference", "context-changed")],
    ("hooks", [hook(event="after-test")]),
    ("tool_mocks", [mock()] * 32),
    ("tool_mocks", [{"name": "f", "error": "gone", "match": {"id": 7, "deep": {"list": [1, 2.5, None]}}}]),
    ("tool_mocks", [mock(match=None)]),
    ("tool_mocks", [mock(result="")]),
    *[("profile", name) for name in ("low", "medium", "high")],
    ("max_turns", 2),
    ("max_turns", 64),
    ("minimum_turns", 1),
    ("minimum_turns", 9),
    ("allow_user_exit", False),
    ("judge_start_turn", 1),
    ("judge_start_turn", 9),
    ("loss_threshold", 0.01),
    ("loss_threshold", 0.79),
    ("base_threshold", 0.99),
    ("base_threshold", 0.31),
    ("user_sampling", {}),
    ("user_sampling", {"top_k": 0, "max_decay": 0}),
    ("user_sampling", {"top_k": 2, "max_decay": 1}),
    ("user_sampling", {"top_k": 2.0}),
    ("seed", None),
    ("seed", 0),
    ("seed", 2**53 - 1),
    ("metadata", {}),
    ("metadata", {str(number): "" for number in range(32)}),
    ("external_user_id", None),
    ("external_user_id", "u"),
    ("external_user_id", "u" * 200),
    ("cron", None),
    ("cron", "*/15 * * * *"),
    ("enabled", False),
    ("failure_notification", False),
    ("notification_threshold", 1),
    ("notification_threshold", 2**31 - 1),
    ("recovery_notification", False),
    ("outcome_notification", True),
]

REFUSED: list[tuple[str, Any, str]] = [
    ("name", "", "name"),
    ("name", "  \t", "name"),
    ("name", "n" * 201, "name"),
    ("name", None, "name"),
    ("name", 5, "name"),
    ("gateway", "", "gateway"),
    ("gateway", "g" * 201, "gateway"),
    ("gateway", None, "gateway"),
    ("goal", "", "goal"),
    ("goal", " \n\u200b\u2060", "goal"),
    ("goal", None, "goal"),
    ("goal", 7, "goal"),
    ("goal", [], "goal"),
    ("goal", text_part("  "), "goal"),
    ("goal", [text_part(" "), text_part("")], "goal"),
    ("goal", ["words"], "goal.0"),
    ("goal", {"type": "image_url", "text": "x"}, "goal.type"),
    ("goal", "x" * 32_001, "goal"),
    ("goal", text_part("x" * 32_001), "goal"),
    ("goal", [text_part("x" * 16_000), text_part("y" * 16_001)], "goal"),
    ("validation_criteria", "", "validation_criteria"),
    ("validation_criteria", "x" * 32_001, "validation_criteria"),
    ("validation_criteria", [], "validation_criteria"),
    ("start", None, "start"),
    ("start", {}, "start"),
    ("start", [{"role": "user", "content": "Hi"}] * 101, "start"),
    ("resources", [{"type": "Text", "data": "x"}] * 17, "resources"),
    ("resources", [{"type": "Text", "data": ""}], "resources.0.data"),
    ("resources", [{"type": "text", "data": "x"}], "resources.0.type"),
    ("resources", [{"type": "RemoteResource", "data": "terms.txt"}], "resources.0"),
    ("resources", [{"type": "Text"}], "resources.0.data"),
    ("hooks", [hook()] * 21, "hooks"),
    ("hooks", [hook("https://example.com/" + "a" * 2029)], "hooks.0.url"),
    ("hooks", [hook("ftp://example.com")], "hooks.0.url"),
    ("hooks", [hook("/relative")], "hooks.0.url"),
    ("hooks", [hook("https://user:word@example.com")], "hooks.0.url"),
    ("hooks", [hook("https://example.com/a b")], "hooks.0.url"),
    ("hooks", [hook("https://example.com:22/")], "hooks.0.url"),
    ("hooks", [hook(event="before-judge")], "hooks.0.event"),
    ("tool_mocks", [mock()] * 33, "tool_mocks"),
    ("tool_mocks", [mock(name="")], "tool_mocks.0.name"),
    ("tool_mocks", [mock(error="both")], "tool_mocks.0"),
    ("tool_mocks", [{"name": "neither"}], "tool_mocks.0"),
    ("tool_mocks", [mock(match=[1])], "tool_mocks.0.match"),
    ("tool_mocks", [mock(result={})], "tool_mocks.0.result"),
    ("profile", "huge", "profile"),
    ("profile", None, "profile"),
    ("max_turns", 1, "max_turns"),
    ("max_turns", 65, "max_turns"),
    ("max_turns", "5", "max_turns"),
    ("max_turns", True, "max_turns"),
    ("max_turns", 5.0, "max_turns"),
    ("max_turns", None, "max_turns"),
    ("minimum_turns", 0, "minimum_turns"),
    ("minimum_turns", 64, "minimum_turns"),
    ("minimum_turns", 10, "minimum_turns"),
    ("allow_user_exit", 1, "allow_user_exit"),
    ("allow_user_exit", "true", "allow_user_exit"),
    ("judge_start_turn", 0, "judge_start_turn"),
    ("judge_start_turn", 64, "judge_start_turn"),
    ("judge_start_turn", 10, "judge_start_turn"),
    ("loss_threshold", 0.009, "loss_threshold"),
    ("loss_threshold", 0.991, "loss_threshold"),
    ("loss_threshold", 0.8, "base_threshold"),
    ("loss_threshold", "0.2", "loss_threshold"),
    ("loss_threshold", True, "loss_threshold"),
    ("base_threshold", 0.991, "base_threshold"),
    ("base_threshold", 0.3, "base_threshold"),
    ("base_threshold", 0.1, "base_threshold"),
    ("base_threshold", None, "base_threshold"),
    ("user_sampling", None, "user_sampling"),
    ("user_sampling", {"top_k": -0.1}, "user_sampling.top_k"),
    ("user_sampling", {"top_k": 2.001}, "user_sampling.top_k"),
    ("user_sampling", {"max_decay": -0.001}, "user_sampling.max_decay"),
    ("user_sampling", {"max_decay": 1.001}, "user_sampling.max_decay"),
    ("user_sampling", {"top_k": "1"}, "user_sampling.top_k"),
    ("seed", -1, "seed"),
    ("seed", 2**53, "seed"),
    ("seed", "7", "seed"),
    ("metadata", {str(number): "" for number in range(33)}, "metadata"),
    ("metadata", {"plan": 1}, "metadata.plan"),
    ("metadata", None, "metadata"),
    ("external_user_id", "", "external_user_id"),
    ("external_user_id", "u" * 201, "external_user_id"),
    ("cron", "", "cron"),
    ("cron", "* * * *", "cron"),
    ("cron", "* * * * * *", "cron"),
    ("cron", "@hourly", "cron"),
    ("cron", "*/15 * * * " + "*" * 90, "cron"),
    ("enabled", None, "enabled"),
    ("notification_threshold", 0, "notification_threshold"),
    ("notification_threshold", 2**31, "notification_threshold"),
    ("outcome_notification", "no", "outcome_notification"),
    ("account_id", "x", "account_id"),
]


@pytest.mark.parametrize(("field", "value"), ACCEPTED, ids=lambda value: repr(value)[:40])
def test_value_inside_its_bounds_is_accepted(field: str, value: Any) -> None:
    assert faults_of(LEAST | {field: value}) == []


@pytest.mark.parametrize(("field", "value", "blamed"), REFUSED, ids=lambda value: repr(value)[:40])
def test_value_outside_its_bounds_is_refused_and_named(field: str, value: Any, blamed: str) -> None:
    assert [fault for fault, _ in faults_of(LEAST | {field: value})] == [blamed]


@pytest.mark.parametrize("field", ["name", "gateway", "goal"])
def test_field_without_default_is_required(field: str) -> None:
    body = {name: value for name, value in LEAST.items() if name != field}
    assert faults_of(body) == [(field, "is required")]


def test_defaults_are_those_of_the_contract() -> None:
    assert stored(read_definition(LEAST)) == LEAST | {
        "validation_criteria": None,
        "start": [],
        "resources": [],
        "hooks": [],
        "tool_mocks": [],
        "profile": "medium",
        "max_turns": 10,
        "minimum_turns": 1,
        "allow_user_exit": True,
        "judge_start_turn": 1,
        "loss_threshold": 0.2,
        "base_threshold": 0.9,
        "user_sampling": {"top_k": 0.4, "max_decay": 0.02},
        "seed": None,
        "metadata": {},
        "external_user_id": None,
        "cron": None,
        "enabled": True,
        "failure_notification": True,
        "notification_threshold": 1,
        "recovery_notification": True,
        "outcome_notification": False,
    }


@pytest.mark.parametrize(("field", "value"), ACCEPTED, ids=lambda value: repr(value)[:40])
def test_what_was_stored_reads_back_as_itself(field: str, value: Any) -> None:
    once = stored(read_definition(read_json(json.dumps(LEAST | {field: value}).encode())))
    again = json.loads(json.dumps(once, allow_nan=False))
    assert stored(read_definition(again)) == once
