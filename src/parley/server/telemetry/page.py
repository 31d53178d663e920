"""The metrics page of one process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from parley.server.telemetry.backlog import BacklogReader
from parley.server.telemetry.metrics import Metrics

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST


@dataclass(frozen=True, slots=True)
class MetricsPage:
    """What this process counted, and what waits in the database."""

    metrics: Metrics
    backlog: BacklogReader

    def __post_init__(self) -> None:
        self.metrics.registry.register(self.backlog)

    async def text(self) -> bytes:
        """The page in the text format of Prometheus."""
        await self.backlog.refresh()
        return generate_latest(self.metrics.registry)
