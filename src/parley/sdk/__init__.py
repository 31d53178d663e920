"""What customers import: light, and independent of the service.

    from parley.sdk import Client

    with Client() as client:
        run = client.runs.start(test_id)
        for event in client.runs.events(test_id, run.id):
            print(event.type, event.data)

Nothing is loaded before it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parley.sdk.client import AsyncClient, Client
    from parley.sdk.errors import NotConfigured, ParleyError, Refused, ServiceUnreachable, StreamBroken
    from parley.sdk.retries import RetryPolicy

_HOMES = {
    "AsyncClient": "client",
    "Client": "client",
    "NotConfigured": "errors",
    "ParleyError": "errors",
    "Refused": "errors",
    "RetryPolicy": "retries",
    "ServiceUnreachable": "errors",
    "StreamBroken": "errors",
}
"""Where each public name lives."""

__all__ = [
    "AsyncClient",
    "Client",
    "NotConfigured",
    "ParleyError",
    "Refused",
    "RetryPolicy",
    "ServiceUnreachable",
    "StreamBroken",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"parley.sdk.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
