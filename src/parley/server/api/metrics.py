"""`/metrics` of the API, on the operators' address."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from parley.server.kit.provide import provided
from parley.server.operators.token import operator_only
from parley.server.telemetry.page import CONTENT_TYPE, MetricsPage

router = APIRouter(tags=["operators"], dependencies=[Depends(operator_only)])


@router.get("/metrics", summary="What this process counted, and what waits")
async def metrics(page: Annotated[MetricsPage, provided(MetricsPage)]) -> Response:
    """The text format of Prometheus. Bounded reads, kept for seconds, however many scrape."""
    return Response(await page.text(), headers={"Content-Type": CONTENT_TYPE})
