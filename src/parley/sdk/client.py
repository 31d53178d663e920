"""The two clients: the same calls, blocking or awaited."""

from __future__ import annotations

from typing import Self

import httpx

from parley.sdk.async_driver import AsyncDriver
from parley.sdk.calls.account import Account, Gateways
from parley.sdk.calls.agentic_tests import Runs, Tests
from parley.sdk.calls.datasets import DatasetRuns, Datasets, Grading
from parley.sdk.calls.evaluations import Evaluations, Suites
from parley.sdk.connection import find_connection
from parley.sdk.requests import TIMEOUT_S
from parley.sdk.retries import RetryPolicy
from parley.sdk.sync_driver import SyncDriver

PATIENT = RetryPolicy()


class Client(SyncDriver):
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
        self.account = Account[SyncDriver](self)
        self.gateways = Gateways[SyncDriver](self)
        self.tests = Tests[SyncDriver](self)
        self.runs = Runs[SyncDriver](self)
        self.evaluations = Evaluations[SyncDriver](self)
        self.suites = Suites[SyncDriver](self)
        self.datasets = Datasets[SyncDriver](self)
        self.grading = Grading[SyncDriver](self)
        self.dataset_runs = DatasetRuns[SyncDriver](self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(AsyncDriver):
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
        self.account = Account[AsyncDriver](self)
        self.gateways = Gateways[AsyncDriver](self)
        self.tests = Tests[AsyncDriver](self)
        self.runs = Runs[AsyncDriver](self)
        self.evaluations = Evaluations[AsyncDriver](self)
        self.suites = Suites[AsyncDriver](self)
        self.datasets = Datasets[AsyncDriver](self)
        self.grading = Grading[AsyncDriver](self)
        self.dataset_runs = DatasetRuns[AsyncDriver](self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
