"""Which headers a customer may add to the calls of a gateway."""

from __future__ import annotations

import re
from collections.abc import Mapping

MOST_HEADERS = 32
LONGEST_NAME = 100
LONGEST_VALUE = 4_096
"""Bounds of ours; many servers take 8 kB of headers in all."""

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[\x20-\x7e\t]*")
_REFUSED_NAMES = frozenset(
    {
        # Product contract.
        "host",
        "transfer-encoding",
        "connection",
        "authorization",
        # Of the connection as well (RFC 9110, section 7.6.1), or changing the exchange.
        "keep-alive",
        "te",
        "trailer",
        "upgrade",
        "expect",
        "accept-encoding",
    }
)
_REFUSED_BEGINNINGS = ("content-", "proxy-")


def header_faults(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """What is wrong with `headers`, as pairs of header name and problem. Values are not repeated."""
    faults = [(name, problem) for name, value in headers.items() if (problem := _problem(name, value))]
    seen: set[str] = set()
    for name in headers:
        if name.lower() in seen:
            faults.append((name, "is given twice; case does not count"))
        seen.add(name.lower())
    return faults


def _problem(name: str, value: str) -> str | None:
    if len(name) > LONGEST_NAME or not _TOKEN.fullmatch(name):
        return f"is not a header name (letters, digits and -, up to {LONGEST_NAME} characters)"
    if name.lower() in _REFUSED_NAMES or name.lower().startswith(_REFUSED_BEGINNINGS):
        return "is a header that cannot be set here"
    if len(value) > LONGEST_VALUE:
        return f"has a value longer than {LONGEST_VALUE} characters"
    if not _VALUE.fullmatch(value):
        return "has a value with characters other than printable ASCII"
    return None
