"""How a call becomes a request of httpx."""

from __future__ import annotations

from typing import Any

import httpx

from parley.sdk.call import NO_BODY, Call
from parley.sdk.connection import Connection
from parley.sdk.watching import SILENCE_S, Stream, Watch

TIMEOUT_S = 30.0
"""For an answer to begin; the service answers plain calls within its own 15 s statements."""
CONNECT_S = 10.0


def client_settings(connection: Connection, timeout_s: float) -> dict[str, Any]:
    """What both kinds of httpx client are built with."""
    return {
        "base_url": connection.url,
        "headers": {"Authorization": f"Bearer {connection.api_key}", "User-Agent": _agent()},
        "timeout": httpx.Timeout(timeout_s, connect=CONNECT_S),
        "follow_redirects": False,
    }


def request_of(client: httpx.Client | httpx.AsyncClient, call: Call[Any]) -> httpx.Request:
    """The request of a call."""
    return client.build_request(
        call.method,
        call.path,
        params=dict(call.params) or None,
        headers=dict(call.headers),
        timeout=client.timeout
        if call.timeout_s is None
        else httpx.Timeout(call.timeout_s, connect=CONNECT_S),
        **_body(call.body),
    )


def stream_request(client: httpx.Client | httpx.AsyncClient, stream: Stream, watch: Watch) -> httpx.Request:
    """The request of a stream, as far as `watch` has read it."""
    timeout = httpx.Timeout(SILENCE_S, connect=CONNECT_S)
    headers = dict(watch.headers)
    return client.build_request(
        stream.method, stream.path, headers=headers, timeout=timeout, **_body(stream.body)
    )


def _body(body: Any) -> dict[str, Any]:
    return {} if body is NO_BODY else {"json": body}


def _agent() -> str:
    # Only who builds a client pays for these.
    import importlib.metadata
    import platform

    return f"parley-evals/{importlib.metadata.version('parley-evals')} python/{platform.python_version()}"
