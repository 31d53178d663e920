"""Addresses taken apart, and the heads of requests."""

from __future__ import annotations

import pytest

from parley.server.outbound.errors import AddressRefused, BadAddress
from parley.server.outbound.guard import OutboundPolicy
from parley.server.outbound.route import Route, guarded_way, operators_way, post_head


@pytest.mark.parametrize(
    ("url", "route", "host", "target"),
    [
        ("http://LLM.Example/v1", Route("llm.example", 80, False), "llm.example", "/v1"),
        ("https://llm.example:444", Route("llm.example", 444, True), "llm.example:444", "/"),
        ("http://[::1]:8000/a b?c=d e", Route("::1", 8000, False), "[::1]:8000", "/a%20b?c=d%20e"),
        ("https://bücher.example/%2F", Route("xn--bcher-kva.example", 443, True), None, "/%2F"),
    ],
)
def test_operators_address(url: str, route: Route, host: str | None, target: str) -> None:
    way = operators_way(url)
    assert (way.route, way.host_header, way.target) == (route, host or route.host, target)


@pytest.mark.parametrize("url", ["", "llm.example/v1", "ftp://llm.example", "http:///v1", "http://a:99999/"])
def test_what_is_no_address_is_a_value_error(url: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        operators_way(url)


def test_customers_address_is_read_by_the_policy() -> None:
    policy = OutboundPolicy.of(networks=["127.0.0.1/32"])
    way = guarded_way(policy, "http://127.1:8000/v1?a=b")
    assert (way.route, way.host_header) == (Route("127.0.0.1", 8000, False), "127.0.0.1:8000")
    assert way.target == "/v1?a=b"
    with pytest.raises(AddressRefused):
        guarded_way(policy, "http://127.0.0.2/")
    with pytest.raises(BadAddress):
        guarded_way(policy, "http://u:p@127.0.0.1/")


def test_head_of_a_post() -> None:
    head = post_head(operators_way("http://u:p%40@llm.example/v1"), {"X-Team": "blue"})
    assert head == (
        b"POST /v1 HTTP/1.1\r\nHost: llm.example\r\nX-Team: blue\r\nAuthorization: Basic dTpwQA==\r\n"
        b"Content-Length: "
    )
    own = post_head(operators_way("http://u:p@llm.example/"), {"authorization": "Bearer k"})
    assert own.count(b"uthorization") == 1


@pytest.mark.parametrize(
    ("name", "value"), [("X-A", "a\r\nb"), ("X-A", "\x00"), ("X:A", "a"), ("", "a"), ("X A", "a")]
)
def test_header_that_http_cannot_carry_is_refused(name: str, value: str) -> None:
    with pytest.raises(ValueError, match="cannot carry"):
        post_head(operators_way("http://llm.example/"), {name: value})
