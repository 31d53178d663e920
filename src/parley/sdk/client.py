"""The two clients: the same calls, blocking or awaited."""

from __future__ import annotations

from typing import Generic, Self

import httpx

from parley.sdk.async_driver import AsyncDriver
from parley.sdk.calls.account import Account, Gateways
from parley.sdk.calls.agentic_tests import Runs, Tests
from parley.sdk.calls.datasets import DatasetRuns, Datasets, Grading
from parley.sdk.calls.evaluations import Evaluations, Suites
from parley.sdk.connection import find_connection
from parley.sdk.offers import D
from parley.sdk.requests import TIMEOUT_S
from parley.sdk.retries import RetryPolicy
from parley.sdk.sync_driver import SyncDriver

PATIENT = RetryPolicy()


class _Offers(Generic[D]):
    """The groups of calls, the same for both clients."""

    def _offer(self, driver: D) -> None:
        self.account = Account[D](driver)
        self.gateways = Gateways[D](driver)
        self.tests = Tests[D](driver)
        self.runs = Runs[D](driver)
        self.evaluations = Evaluations[D](driver)
        self.suites = Suites[D](driver)
        self.datasets = Datasets[D](driver)
        self.grading = Grading[D](driver)
        self.dataset_runs = DatasetRuns[D](driver)


class Client(SyncDriver, _Offers[SyncDriver]):
    """The service, blocking. Safe to share between threads.

    `url` and `api_key` are looked for in the environment, the config file and the local stack when they
    are not given. `timeout_s` is how long an answer may keep us waiting. Raises `NotConfigured`.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
        retries: RetryPolicy = PATIENT,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        connection = find_connection(url, api_key)
        super().__init__(connection, timeout_s=timeout_s, retries=retries, transport=transport)
        self._offer(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(AsyncDriver, _Offers[AsyncDriver]):
    """The service, awaited; for one event loop. Takes what `Client` takes."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
        retries: RetryPolicy = PATIENT,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        connection = find_connection(url, api_key)
        super().__init__(connection, timeout_s=timeout_s, retries=retries, transport=transport)
        self._offer(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
