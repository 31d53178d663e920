"""Cleaning of text at the edges: what a database or a UTF-8 encoder refuses never gets further in."""

from __future__ import annotations

REPLACEMENT = "\ufffd"
"""Stands, visibly, for every character that could not be kept."""


def clean(text: str) -> str:
    """`text` with NUL and lone surrogates replaced by U+FFFD; neighbouring halves become their character.

    Costs one flag and one scan for plain ASCII, one encoding more for other text.
    """
    if "\x00" in text:
        text = text.replace("\x00", REPLACEMENT)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def ends_in_half(text: str) -> bool:
    """Whether the last character is the first half of a surrogate pair, whose second may still come."""
    return "\ud800" <= text[-1:] <= "\udbff"
