import json
import re
from pathlib import Path

import pytest

from parley.sdk import events
from parley.sdk.errors import StreamBroken
from parley.sdk.events import READERS, read_event
from parley.sdk.frames import Message

PAGE = (Path(__file__).parents[3] / "docs/reference/events.md").read_text()
DOCUMENTED = dict(
    re.findall(r"^\| `((?:chat\.|usage|unhandled)[^`]+)` \| ?(.*?) ?\|$", PAGE, flags=re.MULTILINE)
)
RESULT = {
    "reasoning": "fine",
    "score": 0.9,
    "pass": True,
    "should_continue": False,
    "state": "success",
    "turn_delta": 0.8,
    "conversation_delta": 0.9,
    "loss_streak": 0,
    "required_loss_streak": 2,
}

NOT_TEXT = RESULT | {"turn_number": 41, "max_remaining_turns": 42, "will_retry": True, "state": "a state"}
ENDED = {name: NOT_TEXT.get(name, "x") for name in events.Ended.__dataclass_fields__} | {"outcome": "loss"}


def event(name: str, data: object, **more: object) -> events.Event:
    return read_event(
        Message("7:2", json.dumps({"timestamp": 5, "event": {"type": name, "data": data}, **more}))
    )


def test_every_documented_type_is_read_and_no_other() -> None:
    assert len(DOCUMENTED) > 15
    assert set(READERS) == set(DOCUMENTED)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_documented_field_has_a_place(name: str) -> None:
    fields = re.findall(r"`(\w+)`", DOCUMENTED[name])
    values: dict[str, object] = {field: NOT_TEXT.get(field, f"a {field}") for field in fields}
    if "result" in values:
        values["result"] = RESULT
    if "usage" in values:
        values["usage"] = {"prompt_tokens": 3, "cached_prompt_tokens": 1, "completion_tokens": 2}
    told = event(name, values | {"of_a_newer_release": 1}).data
    assert not isinstance(told, events.Unknown)
    words = repr(told)
    for field, value in values.items():
        for part in value.values() if isinstance(value, dict) else [value]:
            assert repr(part) in words, field


def test_a_type_of_a_newer_release_is_passed_through() -> None:
    told = event("chat.judge.applause", {"hands": 2})
    assert told == events.Event("7:2", "chat.judge.applause", 5, events.Unknown({"hands": 2}))
    assert not told.is_last


def test_the_last_event_is_the_verdict_or_an_error_that_is_not_tried_again() -> None:
    failure = {"error": "x", "code": "http_error", "scope": "gateway_inference"}
    assert not event("unhandled_error", failure | {"will_retry": True}).is_last
    assert event("unhandled_error", failure | {"will_retry": False}).is_last
    verdict = {"outcome": "loss", "reason": "r", "state": "loss", "turn_number": 2}
    ended = event("chat.validation.end", verdict | {"conversation_delta": 0.1, "loss_streak": 2})
    assert ended.is_last
    assert isinstance(ended.data, events.Ended)
    assert ended.data.score is None


@pytest.mark.parametrize(
    "data",
    [
        "{",
        "[]",
        "{}",
        '{"timestamp": 1, "event": {"type": "chat.start", "data": {}}}',
        '{"timestamp": 1e999, "event": {"type": "x", "data": {}}}',
        '{"timestamp": 1, "event": {"type": "x", "data": ' + "[" * 100_000,
        '{"timestamp": 1, "event": {"type": "chat.assistant_message.content", "data": {"content": 5}}}',
    ],
)
def test_what_is_no_event_breaks_the_stream(data: str) -> None:
    with pytest.raises(StreamBroken):
        read_event(Message("", data))


def test_numbers_are_numbers() -> None:
    assert event("chat.validation.end", ENDED).is_last
    with pytest.raises(StreamBroken):
        event("chat.validation.end", ENDED | {"turn_number": "41"})
