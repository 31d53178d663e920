"""Hands results in while others are still being made."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from parley.sdk.async_client import AsyncClient

BATCH = 20
"""Results that are posted together at most. A crash loses no more than these, and they can be made again."""
PAUSE_S = 1.0
"""A batch that is not full waits this long."""


class Postbox:
    """Takes results and posts them. What the service would not take is added to `refused`."""

    def __init__(self, client: AsyncClient, run_id: str, refused: list[dict[str, Any]]) -> None:
        self._client = client
        self._run_id = run_id
        self._refused = refused
        self._waiting: list[Mapping[str, Any]] = []
        self._is_full = asyncio.Event()

    def put(self, result: Mapping[str, Any]) -> None:
        """Take a result."""
        self._waiting.append(result)
        if len(self._waiting) >= BATCH:
            self._is_full.set()

    async def post_for_ever(self) -> None:
        """Post what has come, until cancelled. What is left then is for `flush`."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PAUSE_S):
                    await self._is_full.wait()
            await self.flush()

    async def flush(self) -> None:
        """Post all that waits. A batch stays here until it was taken."""
        while self._waiting:
            batch = self._waiting[:BATCH]
            answer = await self._client.dataset_runs.post(self._run_id, _batch_id(batch), batch)
            del self._waiting[: len(batch)]
            self._refused.extend(answer.failed_validation)
        self._is_full.clear()


def _batch_id(batch: Sequence[Mapping[str, Any]]) -> str:
    """The same for the same results, however often they are sent."""
    return hashlib.sha256("\n".join(result["idempotencyKey"] for result in batch).encode()).hexdigest()[:32]
