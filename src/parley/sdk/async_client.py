"""The client that is awaited."""

from __future__ import annotations

from typing import Self

import httpx

from parley.sdk.async_driver import AsyncDriver
from parley.sdk.connection import find_connection
from parley.sdk.groups import Groups
from parley.sdk.requests import TIMEOUT_S
from parley.sdk.retries import PATIENT, RetryPolicy


class AsyncClient(AsyncDriver, Groups[AsyncDriver]):
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
        AsyncDriver.__init__(self, connection, timeout_s=timeout_s, retries=retries, transport=transport)
        Groups.__init__(self, self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
