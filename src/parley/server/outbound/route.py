"""Where a connection leads, and the head of the requests that go there. Pure."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

import idna

from parley.server.outbound.address import DEFAULT_PORTS
from parley.server.outbound.guard import OutboundPolicy

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNSENDABLE = re.compile(r"[\x00\r\n]")


@dataclass(frozen=True, slots=True)
class Route:
    """One side of a connection: what is dialled. Equal routes share connections."""

    host: str
    port: int
    is_tls: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """An address taken apart: its route, what is asked for there, and the credentials it may hold."""

    route: Route
    host_header: str
    target: str
    authorization: str | None = None


def guarded_way(policy: OutboundPolicy, url: str) -> Way:
    """The way to a customer's address. Raises `BadAddress` and `AddressRefused`."""
    found = policy.read(url)
    query = f"?{found.query}" if found.query else ""
    return Way(
        route=Route(found.host, found.port, found.scheme == "https"),
        host_header=_host_header(found.host, found.port, found.scheme),
        target=found.path + query,
    )


def operators_way(url: str) -> Way:
    """The way to an address of the operator's, taken as it is written. Raises ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        raise ValueError("not an address of HTTP")
    host = parts.hostname if parts.hostname.isascii() else idna.encode(parts.hostname, uts46=True).decode()
    port = DEFAULT_PORTS[parts.scheme] if parts.port is None else parts.port
    query = f"?{quote(parts.query, safe=_KEPT + '?')}" if parts.query else ""
    return Way(
        route=Route(host, port, parts.scheme == "https"),
        host_header=_host_header(host, port, parts.scheme),
        target=quote(parts.path or "/", safe=_KEPT) + query,
        authorization=_basic(parts.username, parts.password or "") if parts.username else None,
    )


def post_head(way: Way, headers: Mapping[str, str]) -> bytes:
    """The head of a POST, up to the number of bytes in its body, which is the last header's value.

    Raises ValueError for a header that HTTP cannot carry.
    """
    lines = {"Host": way.host_header, **headers}
    if way.authorization and "authorization" not in {name.lower() for name in headers}:
        lines["Authorization"] = way.authorization
    for name, value in lines.items():
        if not _TOKEN.fullmatch(name) or _UNSENDABLE.search(value):
            raise ValueError("a header that HTTP cannot carry")
    written = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"POST {way.target} HTTP/1.1\r\n{written}Content-Length: ".encode()


_KEPT = "/%:@!$&'()*+,;=~"


def _host_header(host: str, port: int, scheme: str) -> str:
    named = f"[{host}]" if ":" in host else host
    return named if port == DEFAULT_PORTS[scheme] else f"{named}:{port}"


def _basic(user: str, password: str) -> str:
    pair = f"{unquote(user)}:{unquote(password)}".encode()
    return f"Basic {base64.b64encode(pair).decode()}"
