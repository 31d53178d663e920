"""A collector that takes traces over OTLP, pages that are parsed, and a stage that is watched."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

import httpx
import pytest
from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from parley.server.config import AdminSettings, Settings, TelemetrySettings
from tests.factories.accounts import bearer
from tests.stage import hurried
from tests.stage import stage as stage

TOKEN = "an operator's token for tests, long enough"


@dataclass
class Collector:
    """What was sent to a collector."""

    url: str = ""
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    async def take(self, request: web.Request) -> web.Response:
        self.paths.append(request.path)
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        self.bodies.append(await request.read())
        return web.Response(content_type="application/x-protobuf")

    @property
    def spans(self) -> list[Span]:
        """All spans so far."""
        found: list[Span] = []
        for body in self.bodies:
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    found.extend(scope.spans)
        return found


def facts(span: Span) -> dict[str, object]:
    """The attributes of a span as plain values."""
    found: dict[str, object] = {}
    for one in span.attributes:
        kind = one.value.WhichOneof("value")
        value = getattr(one.value, kind or "string_value")
        found[one.key] = [item.string_value for item in value.values] if kind == "array_value" else value
    return found


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    """A collector on a free port of 127.0.0.1."""
    taken = Collector()
    app = web.Application(client_max_size=10_000_000)
    app.router.add_post("/{path:.*}", taken.take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    taken.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield taken
    await runner.cleanup()


@pytest.fixture
def telemetry() -> TelemetrySettings:
    """What is watched; override it to watch other things."""
    return TelemetrySettings(metrics_port=0)


@pytest.fixture
def stage_settings(settings: Settings, telemetry: TelemetrySettings) -> Settings:
    """Settings of the test with waits shortened, an operators' address, and what is watched."""
    watched = hurried(settings)
    admin = AdminSettings(port=0, token=SecretStr(TOKEN))
    return dataclasses.replace(watched, admin=admin, telemetry=telemetry)


class Page:
    """A metrics page that was parsed."""

    def __init__(self, text: str) -> None:
        self.families = {family.name: family for family in text_string_to_metric_families(text)}

    def samples(self, name: str) -> Iterator[tuple[dict[str, str], float]]:
        """The samples of this exact name."""
        for family in self.families.values():
            for sample in family.samples:
                if sample.name == name:
                    yield sample.labels, sample.value

    def value(self, name: str, **labels: str) -> float:
        """The sum of the samples with these labels."""
        return sum(value for found, value in self.samples(name) if labels.items() <= found.items())


async def scrape(url: str, token: str = TOKEN) -> Page:
    """Read a page as Prometheus does."""
    async with httpx.AsyncClient(verify=False) as client:
        answer = await client.get(url, headers=bearer(token))
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return Page(answer.text)
