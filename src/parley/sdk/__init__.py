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
    from parley.sdk.async_client import AsyncClient
    from parley.sdk.client import Client
    from parley.sdk.errors import NotConfigured, ParleyError, Refused, ServiceUnreachable, StreamBroken
    from parley.sdk.evaluating.assertion import assert_evaluation
    from parley.sdk.evaluating.case import Case, Output
    from parley.sdk.evaluating.evaluate import evaluate, evaluate_async
    from parley.sdk.evaluating.report import Report
    from parley.sdk.retries import RetryPolicy
    from parley.sdk.trials import Trials, run_repeatedly

_HOMES = {
    "AsyncClient": "async_client",
    "Case": "evaluating.case",
    "Client": "client",
    "NotConfigured": "errors",
    "Output": "evaluating.case",
    "ParleyError": "errors",
    "Refused": "errors",
    "Report": "evaluating.report",
    "RetryPolicy": "retries",
    "ServiceUnreachable": "errors",
    "StreamBroken": "errors",
    "Trials": "trials",
    "assert_evaluation": "evaluating.assertion",
    "evaluate": "evaluating.evaluate",
    "evaluate_async": "evaluating.evaluate",
    "run_repeatedly": "trials",
}
"""Where each public name lives."""

__all__ = [
    "AsyncClient",
    "Case",
    "Client",
    "NotConfigured",
    "Output",
    "ParleyError",
    "Refused",
    "Report",
    "RetryPolicy",
    "ServiceUnreachable",
    "StreamBroken",
    "Trials",
    "assert_evaluation",
    "evaluate",
    "evaluate_async",
    "run_repeatedly",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"parley.sdk.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
