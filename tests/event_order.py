"""The order of events in a stream, as the contract draws it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tests.stage import Frame, is_terminal

_TOKENS = {
    "chat.start": "TURN",
    "chat.user_message.start_generation": "u(",
    "chat.user_message.reasoning": "u",
    "chat.user_message.content": "u",
    "chat.user_message.end_generation": "u)",
    "chat.user_message.end_conversation": "exit",
    "chat.assistant_message.start_generation": "a(",
    "chat.assistant_message.reasoning": "a",
    "chat.assistant_message.content": "a",
    "chat.assistant_message.refusal": "a",
    "chat.assistant_message.tool_call": "a",
    "chat.assistant_message.tool_result": "a",
    "chat.assistant_message.end_generation": "a)",
    "chat.judge.turn_analysis_start": "j(",
    "chat.judge.turn_analysis_result_ready": "j",
    "chat.judge.turn_analysis_end": "j)",
    "chat.validation.end": "END",
}
_USER = r"(?:u\( (?:u )*again )*u\( (?:u )*u\) used-user (?:exit )?"
_ASSISTANT = r"(?:a\( (?:a )*again )*a\( (?:a )*a\) (?:used-assistant )+"
_JUDGE = r"(?:j\( again )*j\( j j\) used-judge "
_WHOLE = re.compile(rf"(?:TURN (?:{_USER})?(?:{_ASSISTANT})?(?:{_JUDGE})?)+END ")


def order_of(frames: Sequence[Frame]) -> str:
    """The events as short words, each followed by a space."""
    return "".join(_token(frame) + " " for frame in frames)


def assert_in_order(frames: Sequence[Frame]) -> None:
    """A conversation carried to its end: the grammar of a turn, and one terminal event, the last."""
    order = order_of(frames)
    assert _WHOLE.fullmatch(order), order
    assert_one_end(frames)


def assert_one_end(frames: Sequence[Frame]) -> None:
    """Exactly one terminal event, the last."""
    assert [is_terminal(frame) for frame in frames] == [False] * (len(frames) - 1) + [True]


def _token(frame: Frame) -> str:
    if frame.type == "usage_updated":
        return f"used-{frame.data['role']}"
    if frame.type == "unhandled_error":
        return "again" if frame.data["will_retry"] else "FAILED"
    return _TOKENS[frame.type]
