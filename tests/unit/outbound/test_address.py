"""Reading addresses, and telling public ones from all others."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.server.outbound.address import DENIED_PORTS, MAX_URL_CHARS, is_public, parse
from parley.server.outbound.errors import BadAddress


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("http://example.com", "http://example.com/"),
        ("HTTPS://Example.COM.:443/v1?x=1#part", "https://example.com/v1?x=1"),
        ("http://example.com:8080/v1", "http://example.com:8080/v1"),
        ("https://example.com:80/", "https://example.com:80/"),
        ("https://ex\u00e4mple.de/\u00fc", "https://xn--exmple-cua.de/%C3%BC"),
        ("http://a_b.example/%7Eme", "http://a_b.example/%7Eme"),
        ("http://8.8.8.8", "http://8.8.8.8/"),
        ("http://[2606:4700::1111]:8443/x", "http://[2606:4700::1111]:8443/x"),
        ("http://localhost.", "http://localhost/"),
    ],
)
def test_address_gets_one_canonical_form(written: str, canonical: str) -> None:
    """C109: a trailing dot, case and a default port make no second name of one host."""
    target = parse(written)
    assert target.url == canonical
    assert parse(target.url) == target


@pytest.mark.parametrize(
    "written",
    [
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0x7F000001",
        "0177.0.0.1",
        "017700000001",
        "\uff11\uff12\uff17.0.0.1",
        "127\u30020\u30020\u30021",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::1]",
        "[::]",
        "0.0.0.0",
        "0",
        "169.254.169.254",
        "[fd00:ec2::254]",
        "100.100.100.200",
    ],
)
def test_odd_spellings_of_inner_addresses_are_read_as_what_they_are(written: str) -> None:
    """C106, C108, C109, C113, C115."""
    literal = parse(f"http://{written}/").literal
    assert literal is not None
    assert not is_public(literal)


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("http://a.example\\@127.0.0.1/", "backslash"),
        ("http://a.example/\\", "backslash"),
        ("http://a.example/ b", "blank"),
        (" http://a.example/", "blank"),
        ("http://a\t.example/", "blank"),
        ("http://a.example/\n", "blank"),
        ("http://a\u2028.example/", "blank"),
        ("http://a.example/\x00", "control"),
        ("http://a.example/\ud800", "control"),
        ("http://user@a.example/", "credentials"),
        ("http://user:pass@a.example/", "credentials"),
        ("http://@a.example/", "credentials"),
        ("http://a.example@b.example@c.example/", "credentials"),
        ("http://a%2eexample/", "percent"),
        ("http://%31%32%37.0.0.1/", "percent"),
        ("http://[fe80::1%25eth0]/", "percent"),
        ("http://[fe80::1%eth0]/", "percent"),
        ("ftp://a.example/", "http://"),
        ("file:///etc/passwd", "http://"),
        ("//a.example/", "http://"),
        ("a.example", "http://"),
        ("", "http://"),
        ("http:a.example", "host"),
        ("http:///a", "host"),
        ("http://[::1", "malformed"),
        ("http://[::1]x/", "malformed"),
        ("http://[v1.a]/", "IPv6|malformed"),
        ("http://[1.2.3.4]/", "IPv6|malformed"),
        ("http://a..example/", "valid name"),
        ("http://.example/", "valid name"),
        ("http://a.example../", "valid name"),
        ("http://-a.example/", "valid name"),
        ("http://a!b.example/", "valid name"),
        ("http://" + "a" * 64 + ".example/", "valid name"),
        ("http://" + ".".join(["a" * 60] * 5) + "/", "valid name"),
        ("http://xn--/", "international"),
        ("http://\u00ad/", "international"),
        ("http://1.2.3.4.5/", "IPv4"),
        ("http://256.1.1.1/", "IPv4"),
        ("http://08.1.1.1/", "IPv4"),
        ("http://a.0x7f/", "IPv4"),
        ("http://a.example:/", "port"),
        ("http://a.example:0/", "Port 0"),
        ("http://a.example:25/", "Port 25"),
        ("http://a.example:1023/", "Port 1023"),
        ("http://a.example:6379/", "Port 6379"),
        ("http://a.example:65536/", "65535"),
        ("http://a.example:080808/", "65535"),
        ("http://a.example:+80/", "65535"),
        ("http://a.example:\u0668\u0660/", "65535"),
        ("http://a.example/" + "a" * MAX_URL_CHARS, "longer"),
    ],
)
def test_bad_address_is_refused_with_its_reason(written: str, reason: str) -> None:
    """C111, C112, C119."""
    with pytest.raises(BadAddress, match=reason):
        parse(written)


def test_ports_at_the_borders_are_taken() -> None:
    for port in (80, 443, 1024, 65535):
        assert parse(f"http://a.example:{port}/").port == port
    assert all(port >= 1024 for port in DENIED_PORTS)


SPECIAL = """
    0.0.0.0 0.255.255.255 10.0.0.1 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1 127.255.255.255
    168.63.129.16 169.254.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8 192.0.0.192 192.0.2.1
    192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255
    240.0.0.1 255.255.255.255
    :: ::1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:0:127.0.0.1 ::ffff:0:8.8.8.8
    64:ff9b::7f00:1 64:ff9b::169.254.169.254 64:ff9b:1::7f00:1 64:ff9b:1::808:808 100::1
    2001::1 2001:0:53aa:64c:0:fbff:80ff:fffe 2001:2::1 2001:10::1 2001:20::1 2001:db8::1
    2002:7f00:1:: 2002:a00:1::1 2002:808:808::1 3fff::1 4000::1 5f00::1
    fc00::1 fd00:ec2::254 fe80::1 fe80::1%2 fec0::1 ff02::1 ff0e::1
"""
BESIDE_SPECIAL = """
    1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
    168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0
    192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255
    2001:200::1 2001:4860:4860::8888 2003::1 2606:4700::1111 3ffe:ffff::1
    ::ffff:8.8.8.8 64:ff9b::808:808
"""


@pytest.mark.parametrize("ip", SPECIAL.split())
def test_special_address_is_not_public(ip: str) -> None:
    """C113, C115, and the forms that the standard library calls global."""
    assert not is_public(ip_address(ip))


@pytest.mark.parametrize("ip", BESIDE_SPECIAL.split())
def test_address_beside_a_special_range_is_public(ip: str) -> None:
    assert is_public(ip_address(ip))


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    for written in (text, f"http://{text}", f"http://{text}/", f"https://a.example/{text}"):
        try:
            target = parse(written)
        except BadAddress:
            continue
        assert target.url.isascii()
        assert parse(target.url) == target
