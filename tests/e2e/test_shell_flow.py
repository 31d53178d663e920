"""The shell flow of the how-to, by curl and jq: a build that passes and one that does not."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from parley.server.config import LlmSettings, ProfileSettings, Settings
from parley.server.llm.demo import DemoServer
from parley.server.llm.profiles import DEMO_LLMS
from parley.server.wiring import open_services
from tests.conftest import serving
from tests.factories.accounts import Tenant, make_tenant
from tests.stage import StageWorker, hurried

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

PAGE = Path(__file__).parents[2] / "docs/how-to/evaluate-your-agent.md"
EXAMPLE = re.compile(r"<!-- executed -->\n```sh\n(?P<code>.*?)```", re.DOTALL)
WITHOUT = [tool for tool in ("bash", "curl", "jq") if shutil.which(tool) is None]


@dataclasses.dataclass(frozen=True, slots=True)
class Service:
    """Where the service is, and whose key opens it."""

    base: str
    tenant: Tenant


@pytest.fixture
async def service(settings: Settings) -> AsyncIterator[Service]:
    """API, worker and the demo's llms."""
    async with DemoServer() as demo:
        llm = LlmSettings(base_url=demo.space("shell").base_url)
        profile = ProfileSettings(low_user=DEMO_LLMS["user"], low_judge=DEMO_LLMS["judge"])
        changed = dataclasses.replace(hurried(settings), llm=llm, profile=profile)
        async with open_services(changed) as services, serving(services) as url:
            worker = StageWorker(services)
            try:
                yield Service(url, await make_tenant(services.database, "Shell"))
            finally:
                await worker.stop()


async def followed(service: Service, **environment: str) -> tuple[int, str]:
    """The exit code of the page's examples in one shell, and what they print."""
    examples = [found["code"] for found in EXAMPLE.finditer(PAGE.read_text())]
    assert len(examples) == 2
    process = await asyncio.create_subprocess_exec(
        "bash",
        "-euo",
        "pipefail",
        "-c",
        "\n".join(examples),
        env={
            "PATH": os.environ["PATH"],
            "BASE": service.base,
            "KEY": service.tenant.private.token,
            "no_proxy": "127.0.0.1",
            **environment,
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    told, _ = await asyncio.wait_for(process.communicate(), timeout=90)
    assert process.returncode is not None
    return process.returncode, told.decode()


@pytest.mark.skipif(bool(WITHOUT), reason=f"needs {', '.join(WITHOUT)}")
async def test_shell_flow_passes_a_good_build_and_stops_a_bad_one(service: Service) -> None:
    code, told = await followed(service)
    assert code == 0, told
    assert "refund: accepted 1" in told
    assert "verdict: passed" in told
    assert "no-regression: passed" in told

    code, told = await followed(service, REFUND_ANSWER="Whenever you like, just ask.")
    assert code == 1, told
    assert "fail-under: FAILED" in told
    assert "coverage: passed" in told, "a bad answer is rated, not lost"
    assert "verdict: failed" in told
