"""Bytes of unknown making become text."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.server.kit.text import is_storable
from parley.server.outbound.text import CHARSETS, decoded_text, media_type_of, shown_text


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        (b"caf\xc3\xa9", "text/plain", "caf\u00e9"),
        (b"caf\xc3\xa9", "", "caf\u00e9"),
        (b"caf\xe9", "text/plain; charset=ISO-8859-1", "caf\u00e9"),
        (b"caf\xe9", "text/plain;charset='windows-1252'; x=1", "caf\u00e9"),
        (b"caf\xe9", 'text/plain; Charset = "latin1"', "caf\u00e9"),
        (b"\x93\xfa", "text/html; charset=Shift_JIS", "\u65e5"),
        (b"caf\xe9", "text/plain; charset=utf-8", "caf\N{REPLACEMENT CHARACTER}"),
        (codecs.BOM_UTF8 + b"caf\xc3\xa9", "text/plain; charset=latin1", "caf\u00e9"),
        ("caf\u00e9".encode("utf-16"), "text/plain", "caf\u00e9"),
        (codecs.BOM_UTF16_BE + "caf\u00e9".encode("utf-16-be"), "", "caf\u00e9"),
        ("caf\u00e9".encode("utf-16-le"), "text/plain; charset=utf-16", "caf\u00e9"),
    ],
)
def test_text_is_read_by_mark_then_charset_then_utf8(body: bytes, content_type: str, text: str) -> None:
    """C128"""
    assert decoded_text(body, content_type) == text


@pytest.mark.parametrize(
    "charset",
    ["punycode", "idna", "unicode_escape", "base64", "zip", "undefined", "utf-7", "..", "x" * 999, ""],
)
def test_codecs_that_are_no_charsets_are_ignored(charset: str) -> None:
    assert (
        decoded_text(b"\\u0041 \xe9", f"text/plain; charset={charset}") == "\\u0041 \N{REPLACEMENT CHARACTER}"
    )


@given(st.binary(max_size=200), st.sampled_from(sorted(CHARSETS)), st.integers(0, 50))
def test_any_bytes_become_text_that_can_be_stored(body: bytes, charset: str, max_chars: int) -> None:
    text = shown_text(body, f"text/plain; charset={charset}", max_chars)
    assert is_storable(text)
    assert len(text) <= max_chars


def test_media_type_is_read_without_parameters() -> None:
    assert media_type_of(" Text/HTML ; charset=utf-8") == "text/html"
    assert media_type_of("") == ""
