"""The dashboard in the system's Chromium, over a stage: API, worker and scripted llms in the test's loop.

Starting a browser and reading all modules for the first time costs more than most tests, so the tests of one
worker process share a browser, the profile in which its cache is, the port that the cache knows the files by,
and the loop all that lives in. Everything that is told or remembered is a test's own: database, service,
account, page, cookies, storage.

Without Chromium these tests are skipped, and say so; `PARLEY_TEST_CHROMIUM` names another place for it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, async_playwright, expect

from parley.engine.chat import retry
from parley.server.config import Settings
from tests.e2e.dashboard.chromium import FLAGS, chromium
from tests.e2e.dashboard.seen import WIDE, Seen
from tests.stage import PATIENCE_S, Stage, hurried, open_stage

TIMEOUT_S = 180
"""Of a test with a browser, on a busy machine."""
expect.set_options(timeout=20_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use the browser, which all run in its loop."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.e2e)
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(TIMEOUT_S))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """The browser of this worker process."""
    found = chromium()
    if found is None:
        pytest.skip("no Chromium on this machine: the dashboard is not looked at")
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        yield started
        await started.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def profile(browser: Browser) -> AsyncIterator[BrowserContext]:
    """The profile that the tests of this worker process use one after another, emptied of all but files."""
    async with new_profile(browser) as made:
        yield made


@contextlib.asynccontextmanager
async def new_profile(browser: Browser) -> AsyncIterator[BrowserContext]:
    """What a browser is that was never used before."""
    made = await browser.new_context(
        viewport={"width": WIDE[0], "height": WIDE[1]}, timezone_id="Europe/Berlin", locale="en-GB"
    )
    yield made
    await made.close()


@pytest.fixture(scope="session")
def port() -> Iterator[int]:
    """A port for this worker process's services, one after another: bound all the time, so that nobody else
    takes it, and never listened at, so that a service can."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@pytest.fixture
def stage_settings(settings: Settings, port: int) -> Settings:
    """Settings of the test with waits shortened; override it to change more."""
    found = hurried(settings)
    return dataclasses.replace(found, api=found.api.model_copy(update={"port": port}))


@pytest_asyncio.fixture(loop_scope="session")
async def stage(stage_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    """The stage; its client keeps no connection, as a browser's steps outlast the time one is kept open."""
    monkeypatch.setattr(retry, "BASE_S", 0.02)
    async with open_stage(stage_settings) as opened:
        plain = httpx.AsyncClient(
            base_url=opened.url,
            headers=opened.tenant.auth,
            limits=httpx.Limits(max_keepalive_connections=0),
            timeout=PATIENCE_S,
            verify=False,
        )
        async with plain:
            opened.http = plain
            yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def fresh(profile: BrowserContext, stage: Stage) -> AsyncIterator[Seen]:
    """The dashboard, nobody signed in and nothing opened yet. It fails for anything the console was told."""
    seen = Seen(await profile.new_page(), stage.url)
    yield seen
    await forget(profile, seen)
    assert seen.complaints == []


async def forget(profile: BrowserContext, seen: Seen) -> None:
    """Close what is open, and forget what the dashboard has kept; only the cache of files stays."""
    debugger = await profile.new_cdp_session(seen.page)
    await debugger.send("Storage.clearDataForOrigin", {"origin": seen.url, "storageTypes": "local_storage"})
    await profile.clear_cookies()
    for page in profile.pages:
        await page.close()


@pytest_asyncio.fixture(loop_scope="session")
async def dashboard(fresh: Seen, stage: Stage) -> Seen:
    """The dashboard, signed in to the stage's account; nothing opened yet."""
    await fresh.sign_in(stage.tenant.private.token)
    return fresh
