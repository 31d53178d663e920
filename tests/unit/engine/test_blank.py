"""What counts as invisible."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from parley.engine.blank import is_blank, leading_blanks

VISIBLE_FORMAT = {0x110BD, 0x110CD, 0x6DD, 0x70F, 0x8E2, *range(0x600, 0x606), 0x890, 0x891}
"""Format characters that are drawn: number signs and marks of verses."""
HIEROGLYPH_AND_MUSIC_CONTROLS = range(0x13430, 0x13456)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\n\t\r\x0b",
        "\u200b",
        "\ufeff\u2060",
        "\x00\x1f\x7f",
        "\u00a0\u3000",
        "\u200e\u202e",
        "\u00ad",
        "\ufe0f",
        "\u3164",
        "\u2800",
        "\u115f",
        "\U000e0041",
        "\u034f \u200d",
    ],
)
def test_nobody_can_see_this(text: str) -> None:
    assert is_blank(text)
    assert leading_blanks(text + "a" + text) == len(text)


@pytest.mark.parametrize(
    "text", ["a", ".", "?", " \u200b.", "\u2764\ufe0f", "0", "_", "\u0661", "\ufffd", "\u00b4"]
)
def test_this_can_be_seen(text: str) -> None:
    assert not is_blank(text)


def test_all_white_space_and_all_control_and_format_characters_are_blank() -> None:
    missed = [
        hex(point)
        for point in range(sys.maxunicode + 1)
        if (chr(point).isspace() or unicodedata.category(chr(point)) in ("Cc", "Cf", "Zs", "Zl", "Zp"))
        and point not in VISIBLE_FORMAT
        and point not in HIEROGLYPH_AND_MUSIC_CONTROLS
        and not is_blank(chr(point))
    ]
    assert missed == []


def test_no_letter_number_or_sign_is_blank() -> None:
    fillers = {"\u115f", "\u1160", "\u3164", "\uffa0", "\u2800"}
    wrong = [
        hex(point)
        for point in range(sys.maxunicode + 1)
        if unicodedata.category(chr(point))[0] in "LNPS"
        and chr(point) not in fillers
        and is_blank(chr(point))
    ]
    assert wrong == []
