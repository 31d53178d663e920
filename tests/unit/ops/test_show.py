import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from parley.server.ops.local.show import BARS, Paragraph, Telling, sparkline

TALK: list[tuple[str, dict[str, Any]]] = [
    ("chat.start", {"turn_number": 1, "max_remaining_turns": 2}),
    ("chat.user_message.start_generation", {}),
    ("chat.user_message.content", {"content": "Where is my par"}),
    ("chat.user_message.content", {"content": "cel, please?"}),
    ("chat.user_message.end_generation", {}),
    ("usage_updated", {"role": "user", "usage": {}}),
    ("chat.assistant_message.start_generation", {}),
    ("chat.assistant_message.tool_call", {"id": "1", "name": "find", "arguments": '{"n": 1}'}),
    ("chat.assistant_message.content", {"content": "On its way."}),
    ("chat.assistant_message.end_generation", {}),
    (
        "chat.judge.turn_analysis_result_ready",
        {"result": {"score": 0.72, "conversation_delta": 0.5, "reasoning": "Polite."}},
    ),
]
VERDICT = {
    "outcome": "loss",
    "reason": "loss_threshold_persisted",
    "turn_number": 1,
    "conversation_delta": 0.06,
}


def told(events: list[tuple[str, dict[str, Any]]], width: int = 80) -> tuple[str, Telling]:
    out = io.StringIO()
    telling = Telling(Console(file=out, width=width, highlight=False))
    for kind, data in events:
        telling.tell(kind, data)
    return out.getvalue(), telling


def test_every_voice_is_shown_with_its_words_score_and_trajectory() -> None:
    text, _ = told(TALK)
    assert "turn 1" in text
    assert "   user Where is my parcel, please?\n" in text
    assert 'gateway [calls find {"n": 1}] On its way.\n' in text
    assert "  judge 0.72 ▅ Polite.\n" in text


def test_words_appear_before_their_message_ends() -> None:
    text, _ = told(TALK[:3])
    assert "Where is my" in text


def test_verdict_tells_outcome_reason_and_the_whole_trajectory() -> None:
    text, telling = told([*TALK, TALK[-1], ("chat.validation.end", VERDICT)])
    assert "✗ loss: loss threshold persisted, turn 1, trajectory ▅▅ 0.06" in text
    assert telling.outcome == "loss"
    assert telling.is_over


@pytest.mark.parametrize("will_retry", [True, False])
def test_only_a_final_error_ends_the_telling(will_retry: bool) -> None:
    error = {"error": "busy", "code": "rate_limited", "scope": "user_inference", "will_retry": will_retry}
    text, telling = told([("unhandled_error", error)])
    assert "busy (rate_limited)" in text
    assert telling.is_over is not will_retry


def test_an_llm_cannot_steer_the_terminal() -> None:
    text, _ = told(
        [
            ("chat.user_message.start_generation", {}),
            ("chat.user_message.content", {"content": "\x1b]0;owned\x07 hello \x9b2J\r"}),
            ("chat.user_message.end_generation", {}),
        ]
    )
    assert not set(text) & set("\x1b\x07\x9b\r")


@given(
    words=st.lists(st.text("ab", min_size=1, max_size=12), min_size=1, max_size=40), cuts=st.integers(1, 9)
)
def test_wrapping_keeps_every_word_and_the_width_however_the_text_is_cut(words: list[str], cuts: int) -> None:
    out = io.StringIO()
    paragraph = Paragraph(Console(file=out, width=30))
    paragraph.begin("user", "")
    text = " ".join(words)
    for start in range(0, len(text), cuts):
        paragraph.add(text[start : start + cuts])
    paragraph.end()
    assert out.getvalue().split() == ["user", *words]
    assert all(len(line) <= 30 for line in out.getvalue().splitlines())


@given(st.lists(st.floats(0, 1)))
def test_sparkline_has_one_bar_a_value_and_never_sinks_when_values_rise(values: list[float]) -> None:
    line = sparkline(sorted(values))
    assert len(line) == len(values)
    assert [BARS.index(bar) for bar in line] == sorted(BARS.index(bar) for bar in line)


def test_sparkline_uses_the_whole_height() -> None:
    assert sparkline([0, 1]) == BARS[0] + BARS[-1]
