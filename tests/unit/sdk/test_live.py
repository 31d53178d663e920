from __future__ import annotations

import io

from rich.console import Console

from parley.sdk.cli.live import Live, bars
from parley.sdk.cli.paragraph import LABEL_WIDTH
from parley.sdk.events import (
    Content,
    Failed,
    MessageEnded,
    MessageStarted,
    Opinion,
    Told,
    TurnStarted,
    UserLeft,
)


def shown(*told: Told, width: int = 60) -> str:
    page = io.StringIO()
    live = Live(Console(file=page, width=width, color_system=None))
    for one in told:
        live.show(one)
    live.close()
    return page.getvalue()


def test_words_wrap_under_their_label_however_they_are_cut() -> None:
    text = "The boots may be sent back within thirty days, free of charge, by the label in the parcel."
    whole = shown(MessageStarted("user"), Content("user", text), MessageEnded("user"), width=40)
    letters = [Content("user", letter) for letter in text]
    assert shown(MessageStarted("user"), *letters, MessageEnded("user"), width=40) == whole
    lines = whole.splitlines()
    assert max(len(line) for line in lines) <= 40
    assert all(line == line.rstrip() for line in lines)
    assert all(line.startswith(" " * LABEL_WIDTH) for line in lines[1:])
    assert " ".join(whole.split()) == f"user {text}"


def test_wide_characters_take_the_room_they_need() -> None:
    page = shown(MessageStarted("user"), Content("user", "靴 " * 40), MessageEnded("user"), width=40)
    assert all(sum(2 if char == "靴" else 1 for char in line) <= 40 for line in page.splitlines())


def test_a_narrow_terminal_still_gets_every_word() -> None:
    page = shown(MessageStarted("user"), Content("user", "incomprehensibilities " * 3), width=5)
    assert page.count("incomprehensibilities") == 3


def test_scores_make_a_course() -> None:
    def opinion(score: float) -> Opinion:
        return Opinion("Fine.", score, True, True, "active", 0.0, score, 0, 2)

    page = shown(TurnStarted(1, 3), opinion(0.1), opinion(0.9), UserLeft("x"))
    assert "judge  0.90 ▂▇ Fine." in page
    assert bars([0, 0.5, 1, 2, -1]) == "▁▅██▁"


def test_an_attempt_that_failed_is_told_apart_from_the_end() -> None:
    again = shown(Failed("Broken.", "http_error", "gateway_inference", True))
    assert "tries again: Broken. (http_error)" in again
    assert "failed  Broken." in shown(Failed("Broken.", "gateway_inference", "gateway_inference", False))
