"""Texts cut to a length, so that a prompt has its bound; every cut is marked where it was made."""

from __future__ import annotations

from collections.abc import Sequence


def shared_out(texts: Sequence[str], most: int) -> list[str]:
    """Texts within about `most` characters in all: the longest are cut to one common length."""
    room, level = most, 0
    for place, length in enumerate(sorted(map(len, texts))):
        level = max(room, 0) // (len(texts) - place)
        if length > level:
            return [capped(text, level)[0] for text in texts]
        room -= length
    return list(texts)


def capped(text: str, limit: int) -> tuple[str, int]:
    """`text` within about `limit` characters, and how many were left out of its middle.

    The gap is marked in the text. Beginning and end stay: results put their sums and errors there.
    """
    left_out = len(text) - limit
    if left_out <= 0:
        return text, 0
    head = limit * 3 // 4
    return f"{text[:head]}[... {left_out} characters left out ...]{text[head + left_out :]}", left_out
