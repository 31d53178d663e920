"""Which addresses the policy permits."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from parley.server.outbound.errors import AddressRefused, BadAddress
from parley.server.outbound.guard import OutboundPolicy

PUBLIC = ip_address("8.8.8.8")
LOOPBACK = ip_address("127.0.0.1")


def test_only_public_addresses_are_permitted_by_default() -> None:
    policy = OutboundPolicy()
    assert policy.permits("a.example", PUBLIC)
    assert not policy.permits("a.example", LOOPBACK)


def test_allowed_network_is_permitted_under_any_name_but_no_further() -> None:
    policy = OutboundPolicy.of(networks=["127.0.0.0/8 ", "fd00::/8"])
    assert policy.permits("a.example", LOOPBACK)
    assert policy.permits("b.example", ip_address("fd00::1"))
    assert policy.permits("a.example", ip_address("::ffff:127.0.0.1"))
    assert not policy.permits("a.example", ip_address("10.0.0.1"))
    assert not policy.permits("a.example", ip_address("::1"))


def test_allowed_host_is_permitted_at_any_address_and_no_other_host() -> None:
    policy = OutboundPolicy.of(hosts=["LLM.Inside."])
    assert policy.permits("llm.inside", LOOPBACK)
    assert not policy.permits("x.llm.inside", LOOPBACK)


def test_malformed_network_is_refused() -> None:
    with pytest.raises(ValueError, match="does not appear"):
        OutboundPolicy.of(networks=["everything"])


def test_one_inner_answer_among_public_ones_refuses_all() -> None:
    """C102: all answers are checked, not the first."""
    with pytest.raises(AddressRefused):
        OutboundPolicy().check("a.example", [PUBLIC, LOOPBACK])
    OutboundPolicy().check("a.example", [PUBLIC])


def test_no_answer_is_refused_like_an_inner_one() -> None:
    """C129: whoever asks cannot tell an unknown name from an inner one."""
    with pytest.raises(AddressRefused) as unknown:
        OutboundPolicy().check("a.example", [])
    with pytest.raises(AddressRefused) as inner:
        OutboundPolicy().check("a.example", [LOOPBACK])
    assert unknown.value.message == inner.value.message
    assert "127" not in inner.value.message


def test_inner_literal_is_refused_when_it_is_saved() -> None:
    with pytest.raises(AddressRefused):
        OutboundPolicy().read("http://127.1:8080/v1")
    with pytest.raises(BadAddress):
        OutboundPolicy().read("http://8.8.8.8:22/")
    assert OutboundPolicy().read("http://8.8.8.8/v1").host == "8.8.8.8"
    assert OutboundPolicy.of(networks=["127.0.0.0/8"]).read("http://127.1:8080/v1").host == "127.0.0.1"
