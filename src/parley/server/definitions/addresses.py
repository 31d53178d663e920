"""The shape of a customer's address. Where it leads is checked at each call, not here."""

from __future__ import annotations

from parley.server.outbound.address import parse
from parley.server.outbound.errors import BadAddress


def url_problem(text: str) -> str | None:
    """Why `text` is no address that would ever be called, or None."""
    try:
        parse(text)
    except BadAddress as fault:
        return f"is not an address to call: {fault.message[0].lower()}{fault.message[1:].rstrip('.')}"
    return None
