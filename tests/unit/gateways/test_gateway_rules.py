"""Header rules and slugs."""

from __future__ import annotations

from uuid import UUID

import pytest

from parley.server.gateways.headers import header_faults
from parley.server.gateways.service import slug_of

ID = UUID("01a22cd1-1c69-7435-8e3a-8a2be0d79950")


@pytest.mark.parametrize("name", ["X-Team", "Cookie", "x", "OpenAI-Organization", "a" * 100])
def test_ordinary_headers_are_taken(name: str) -> None:
    assert header_faults({name: "value with spaces\tand tabs"}) == []


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "HOST",
        "Content-Type",
        "content-encoding",
        "Transfer-Encoding",
        "Connection",
        "Proxy-Anything",
        "Authorization",
        "Upgrade",
        "TE",
        "X Team",
        "X:Team",
        "",
        "X\r\nY",
        "é",
        "a" * 101,
    ],
)
def test_headers_that_steer_the_call_are_refused(name: str) -> None:
    assert [fault[0] for fault in header_faults({name: "v"})] == [name]


@pytest.mark.parametrize("value", ["a\rb", "a\nb", "a\0b", "é", "\x7f", "x" * 4_097])
def test_values_that_break_out_are_refused_and_not_repeated(value: str) -> None:
    ((name, problem),) = header_faults({"X-A": value})
    assert name == "X-A"
    assert value not in problem


def test_case_does_not_make_a_second_header() -> None:
    assert header_faults({"X-A": "1", "x-a": "2"}) == [("x-a", "is given twice; case does not count")]


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Shop support", "shop-support:9950"),
        ("  --Shop__support!! ", "shop__support:9950"),
        ("客服", "客服:9950"),
        ("☎☎", "gateway:9950"),
        ("a" * 200, "a" * 60 + ":9950"),
    ],
)
def test_slug_is_the_name_and_four_digits(name: str, slug: str) -> None:
    assert slug_of(name, ID) == slug
