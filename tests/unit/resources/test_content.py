"""Which answers count as text."""

from __future__ import annotations

import pytest

from parley.server.outbound.fetch import Answer
from parley.server.resources.content import NotText, text_in


def answer(body: bytes, content_type: str = "text/plain", status: int = 200) -> Answer:
    headers = {"content-type": content_type} if content_type else {}
    return Answer(status=status, headers=headers, body=body, is_cut=False)


@pytest.mark.parametrize(
    "content_type",
    [
        "text/html; charset=utf-8",
        "TEXT/CSV",
        "application/json",
        "application/problem+json",
        "image/svg+xml",
        "application/x-yaml",
        "application/xml",
    ],
)
def test_types_that_are_text_are_read(content_type: str) -> None:
    assert text_in(answer(b"<p>words</p>", content_type), 100) == "<p>words</p>"


@pytest.mark.parametrize(
    "content_type",
    [
        "application/pdf",
        "image/png",
        "application/octet-stream",
        "application/zip",
        "video/mp4",
        "textual/x",
        "",
    ],
)
def test_other_types_are_refused_whatever_they_hold(content_type: str) -> None:
    """C128"""
    with pytest.raises(NotText, match="type"):
        text_in(answer(b"words", content_type), 100)


def test_size_counts_in_unpacked_bytes_and_exactly() -> None:
    """C128"""
    assert text_in(answer(b"x" * 100), 100) == "x" * 100
    with pytest.raises(NotText, match="larger than 100 bytes"):
        text_in(answer(b"x" * 101), 100)


def test_long_type_is_told_in_short() -> None:
    with pytest.raises(NotText) as refused:
        text_in(answer(b"x", "a/" + "b" * 5_000), 100)
    assert len(refused.value.problem) < 200
