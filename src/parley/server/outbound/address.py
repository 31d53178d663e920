"""Reads an address as a customer wrote it, and tells public IP addresses from all others. Pure."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Literal, TypeAlias
from urllib.parse import quote, urlsplit

import idna

from parley.server.outbound.errors import BadAddress

IpAddress: TypeAlias = IPv4Address | IPv6Address
IpNetwork: TypeAlias = IPv4Network | IPv6Network

MAX_URL_CHARS = 2_048
"""Longer addresses are refused; what browsers and proxies commonly carry."""

DEFAULT_PORTS = {"http": 80, "https": 443}
FIRST_FREE_PORT = 1_024
"""Below it only 80 and 443 may be called."""

_BROWSERS_BAD_PORTS = (1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566)
_IRC_PORTS = (6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080)
_DATABASE_PORTS = (1433, 1521, 3306, 5432, 5984, 6379, 9042, 9200, 9300, 11211, 27017, 27018, 27019)
_CONTROL_PORTS = (2181, 2375, 2376, 2379, 2380, 3389, 5672, 5900, 5985, 5986, 8500, 9092, 10250, 10255)
DENIED_PORTS = frozenset({*_BROWSERS_BAD_PORTS, *_IRC_PORTS, *_DATABASE_PORTS, *_CONTROL_PORTS})
"""Ports from 1024 that may not be called.

The first two groups are the "bad ports" of the WHATWG Fetch standard; the others belong to
databases, caches, queues, remote desktops and cluster controls: nothing that a customer would serve.
"""

_NOT_PUBLIC_V4 = tuple(
    IPv4Network(net)
    for net in (
        # IANA special-purpose registry, entries that are not globally reachable, and class D and E.
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        # Looks public, but is Azure's platform address, answered inside every virtual machine.
        "168.63.129.16/32",
    )
)

_GLOBAL_UNICAST_V6 = IPv6Network("2000::/3")
"""The only IPv6 space in public use; loopback, ULA, link-local, site-local, multicast lie outside."""

_NOT_PUBLIC_V6 = tuple(
    IPv6Network(net)
    for net in (
        "2001::/23",  # protocol assignments, Teredo among them (it carries an IPv4 address)
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, carries an IPv4 address
        "3fff::/20",  # documentation
    )
)

_MAPPED_V4 = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")

_UNSAFE_TEXT = re.compile(r"[\x00-\x20\x7f-\xa0\ud800-\udfff\\\s]")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An address in its one canonical form.

    `host` is lower case, ASCII, without a trailing dot; odd IPv4 spellings are already written out.
    `literal` is set when the host is an IP address. `path` begins with a slash, `query` may be empty.
    """

    scheme: Literal["http", "https"]
    host: str
    port: int
    path: str
    query: str
    literal: IpAddress | None

    @property
    def url(self) -> str:
        """The canonical text; a default port is left out, a fragment never kept."""
        host = f"[{self.host}]" if isinstance(self.literal, IPv6Address) else self.host
        port = "" if self.port == DEFAULT_PORTS[self.scheme] else f":{self.port}"
        query = f"?{self.query}" if self.query else ""
        return f"{self.scheme}://{host}{port}{self.path}{query}"


@lru_cache(maxsize=1_024)
def parse(url: str) -> Target:
    """Read an address. Raises `BadAddress` with a reason that the customer may read."""
    if len(url) > MAX_URL_CHARS:
        raise BadAddress(f"The address is longer than {MAX_URL_CHARS} characters.")
    if _UNSAFE_TEXT.search(url):
        raise BadAddress("The address holds a backslash, a blank or a control character.")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise BadAddress("The address is malformed.") from None
    scheme: Literal["http", "https"]
    if parts.scheme == "https":
        scheme = "https"
    elif parts.scheme == "http":
        scheme = "http"
    else:
        raise BadAddress("The address must begin with http:// or https://.")
    if not parts.netloc:
        raise BadAddress("The address must name a host.")
    if "@" in parts.netloc:
        raise BadAddress("The address must not hold credentials (no @ before the path).")
    written_host, written_port = _split_authority(parts.netloc)
    host, literal = _read_host(written_host)
    return Target(
        scheme=scheme,
        host=host,
        port=_read_port(written_port, scheme),
        path=quote(parts.path or "/", safe="/%:@!$&'()*+,;=~"),
        query=quote(parts.query, safe="/?%:@!$&'()*+,;=~"),
        literal=literal,
    )


def unwrapped(ip: IpAddress) -> IpAddress:
    """The IPv4 address that a mapped or NAT64 address stands for; any other address as it is."""
    if isinstance(ip, IPv6Address) and (ip in _MAPPED_V4 or ip in _NAT64):
        return IPv4Address(ip.packed[-4:])
    return ip


@lru_cache(maxsize=4_096)
def is_public(ip: IpAddress) -> bool:
    """Whether `ip` lies in the public internet, by what it would really reach.

    Written out instead of `ipaddress.is_global`, which calls multicast, 6to4 and NAT64 forms of
    inner addresses global, and changes between Python versions.
    """
    real = unwrapped(ip)
    if isinstance(real, IPv4Address):
        return not any(real in network for network in _NOT_PUBLIC_V4)
    if real not in _GLOBAL_UNICAST_V6:
        return False
    return not any(real in network for network in _NOT_PUBLIC_V6)


def _split_authority(netloc: str) -> tuple[str, str | None]:
    """Host (brackets kept) and the text of the port."""
    if netloc.startswith("["):
        host, bracket, rest = netloc.partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise BadAddress("The address is malformed.")
        return host + bracket, rest[1:] if rest else None
    host, colon, port = netloc.partition(":")
    return host, port if colon else None


def _read_port(written: str | None, scheme: Literal["http", "https"]) -> int:
    if written is None:
        return DEFAULT_PORTS[scheme]
    if not re.fullmatch(r"[0-9]{1,5}", written) or int(written) > 65_535:
        raise BadAddress("The port must be a number from 1 to 65535.")
    port = int(written)
    if port in DENIED_PORTS or (port < FIRST_FREE_PORT and port not in DEFAULT_PORTS.values()):
        raise BadAddress(f"Port {port} is not allowed: use 80, 443, or a web service's port from 1024.")
    return port


def _read_host(written: str) -> tuple[str, IpAddress | None]:
    if "%" in written:
        raise BadAddress("The host must not hold percent signs or a zone.")
    if written.startswith("["):
        return _read_ipv6(written[1:-1])
    host = _ascii_host(written).removesuffix(".")
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise BadAddress("The host is not a valid name.")
    if _NUMERIC_LABEL.fullmatch(labels[-1]):
        return _read_ipv4(host)
    return host, None


def _read_ipv6(written: str) -> tuple[str, IpAddress | None]:
    try:
        literal = IPv6Address(written)
    except ValueError:
        raise BadAddress("The host is not a valid IPv6 address.") from None
    return str(literal), literal


def _read_ipv4(written: str) -> tuple[str, IpAddress | None]:
    """Read every spelling that the system's resolver would take: 127.1, 2130706433, 0x7f.1, 0177.0.0.1."""
    try:
        literal = IPv4Address(socket.inet_aton(written))
    except OSError:
        raise BadAddress("The host is not a valid IPv4 address.") from None
    return str(literal), literal


def _ascii_host(written: str) -> str:
    """The host in lower-case ASCII; IDNA 2008 after UTS 46 mapping for everything else."""
    host = written.lower()
    if host.isascii() and "xn--" not in host:
        return host
    try:
        return idna.encode(host, uts46=True).decode("ascii")
    except UnicodeError:
        raise BadAddress("The host is not a valid international name.") from None


@lru_cache(maxsize=4_096)
def read_ip(text: str) -> IpAddress:
    """An IP address as a resolver or a socket gives it; a zone is dropped."""
    return ip_address(text.partition("%")[0])
