"""The blocking client."""

from __future__ import annotations

from typing import Self

import httpx

from parley.sdk.connection import find_connection
from parley.sdk.groups import Groups
from parley.sdk.requests import TIMEOUT_S
from parley.sdk.retries import PATIENT, RetryPolicy
from parley.sdk.sync_driver import SyncDriver


class Client(SyncDriver, Groups[SyncDriver]):
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
        SyncDriver.__init__(self, connection, timeout_s=timeout_s, retries=retries, transport=transport)
        Groups.__init__(self, self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
