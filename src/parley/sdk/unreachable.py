"""What to tell a person when no answer came. Pure."""

from __future__ import annotations

import httpx

from parley.sdk.connection import Connection


def was_not_sent(error: httpx.TransportError) -> bool:
    """Whether the service cannot have seen the call, so that any may be sent again."""
    return isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)


def why(error: httpx.TransportError, connection: Connection) -> str:
    """A sentence with the address and where it was found."""
    where = f"{connection.url} (from {connection.source})"
    told = str(error).rstrip(".") or type(error).__name__
    if isinstance(error, httpx.ConnectError):
        return f"Nothing answers at {where}: {told}."
    if isinstance(error, httpx.TimeoutException):
        return f"{where} did not answer in time."
    return f"The connection to {where} broke: {told}."
