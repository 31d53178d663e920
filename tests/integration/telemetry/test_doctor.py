"""`parley doctor` on the collector of traces."""

from __future__ import annotations

import dataclasses

import pytest

from parley.server.config import Settings, TelemetrySettings
from parley.server.ops.doctor import Finding, _traces
from tests.integration.telemetry.conftest import Collector


async def found(settings: Settings, telemetry: TelemetrySettings) -> list[Finding]:
    return await _traces(dataclasses.replace(settings, telemetry=telemetry))


@pytest.mark.parametrize(
    ("content", "words"), [(False, "without what was said"), (True, "with what was said")]
)
async def test_collector_that_takes_traces_is_good(
    settings: Settings, collector: Collector, content: bool, words: str
) -> None:
    [finding] = await found(settings, TelemetrySettings(otlp_url=collector.url, content=content))
    assert finding.state == "good"
    assert finding.text.endswith(words)
    assert collector.spans == []


async def test_collector_that_is_away_names_its_setting(settings: Settings, unused_tcp_port: int) -> None:
    [finding] = await found(settings, TelemetrySettings(otlp_url=f"http://127.0.0.1:{unused_tcp_port}"))
    assert finding.state == "bad"
    assert "PARLEY_TELEMETRY_OTLP_URL" in finding.text


@pytest.mark.parametrize("url", ["collector:4318", "nonsense"])
async def test_malformed_address_is_a_finding_not_a_crash(settings: Settings, url: str) -> None:
    [finding] = await found(settings, TelemetrySettings(otlp_url=url))
    assert finding.state == "bad"


async def test_nothing_is_said_where_nothing_is_traced(settings: Settings) -> None:
    assert await found(settings, TelemetrySettings()) == []
