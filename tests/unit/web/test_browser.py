"""What a browser has to show before its session counts."""

from __future__ import annotations

import pytest

from parley.server.accounts.browser import is_same_origin, link_digest, session_digest
from parley.server.accounts.tokens import digest

HOST = {"host": "parley.example"}


@pytest.mark.parametrize(
    ("headers", "public_url"),
    [
        ({"sec-fetch-site": "same-origin"}, ""),
        ({"origin": "http://parley.example"}, ""),
        ({"origin": "https://parley.example"}, ""),
        ({"origin": "https://PARLEY.example", "sec-fetch-site": "same-origin"}, ""),
        ({"host": "inner:8000", "origin": "https://parley.example"}, "https://parley.example"),
    ],
)
def test_own_pages_are_known(headers: dict[str, str], public_url: str) -> None:
    assert is_same_origin(HOST | headers, public_url)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"sec-fetch-site": "none"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": ""},
        {"origin": ""},
        {"origin": "null"},
        {"origin": "http://parley.example:81"},
        {"origin": "http://parley.example.evil.example"},
        {"origin": "file://parley.example"},
        {"origin": "http://evil.example/parley.example"},
        {"origin": "http://user@parley.example"},
        {"origin": "http://parley.example/#@evil.example"},
        {"origin": "http://["},
        {"origin": "http://a]b"},
        {"origin": "http://parley.example", "sec-fetch-site": "cross-site"},
        {"host": "", "origin": "http://"},
    ],
)
def test_foreign_pages_are_refused(headers: dict[str, str]) -> None:
    assert not is_same_origin(HOST | headers, "")


def test_keys_sessions_and_links_never_share_a_digest() -> None:
    assert len({digest("x"), session_digest("x"), link_digest("x")}) == 3
