"""The dashboard in the system's Chromium, over a stage: API, worker and scripted llms in the test's loop.

Without Chromium these tests are skipped, and say so; `PARLEY_TEST_CHROMIUM` names another place for it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from axe_playwright_python.base import AXE_FILE_PATH  # type: ignore[import-untyped]
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright, expect

from parley.engine.chat import retry
from parley.server.config import Settings
from tests.stage import PATIENCE_S, Stage, open_stage
from tests.stage import stage_settings as stage_settings

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDE = (1280, 860)
NARROW = (390, 844)
expect.set_options(timeout=20_000)
_AXE = Path(AXE_FILE_PATH).read_text()
_RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
}


def chromium() -> str | None:
    """Where Chromium is."""
    given = os.environ.get("PARLEY_TEST_CHROMIUM")
    return given or shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    """A browser of this test's own."""
    found = chromium()
    if found is None:
        pytest.skip("no Chromium on this machine: the dashboard is not looked at")
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        yield started
        await started.close()


@pytest.fixture
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


@dataclass
class Seen:
    """One page of the dashboard, and everything it complained of."""

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)

    async def open(self, path: str) -> None:
        """Go to an address, as by typing it."""
        await self.page.goto(self.url + path)

    async def sign_in(self, key: str) -> None:
        """Sign in by hand."""
        await self.open("/sign-in")
        await self.page.get_by_label("Private key").fill(key)
        await self.page.get_by_role("button", name="Sign in").click()
        await self.page.locator("header.bar").wait_for()

    async def heading(self, text: str | re.Pattern[str]) -> None:
        """Wait for the page with this heading."""
        await self.page.get_by_role("heading", level=1, name=text).wait_for()

    async def looks_accessible(self) -> None:
        """Ask axe in light and dark, wide and narrow, and see that nothing has to be scrolled sideways."""
        for scheme in ("light", "dark"):
            await self.page.emulate_media(color_scheme=scheme)
            for width, height in (WIDE, NARROW):
                await self.page.set_viewport_size({"width": width, "height": height})
                where = f"{self.page.url} {scheme} {width}"
                assert await self.faults() == [], where
                overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                assert await self.page.evaluate(overflow) <= 0, where
        await self.page.emulate_media(color_scheme="light")
        await self.page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})

    async def faults(self) -> list[str]:
        """What axe finds on the page as it is."""
        # Through the debugger, because the page's own policy lets no script in.
        await self.page.evaluate(_AXE + "\n;0")
        found = await self.page.evaluate("rules => axe.run(document, rules)", _RULES)
        return [
            f"{one['id']}: {node['html'][:160]} - {node['failureSummary'][:300]}"
            for one in found["violations"]
            for node in one["nodes"]
        ]

    def note(self, message: ConsoleMessage) -> None:
        """Keep what the console is told; a refused request is told by the page itself."""
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)


@contextlib.asynccontextmanager
async def opened(browser: Browser, url: str) -> AsyncIterator[Seen]:
    """A page in a context of its own, as in a fresh browser. It fails for anything the console was told."""
    context = await browser.new_context(
        viewport={"width": WIDE[0], "height": WIDE[1]}, timezone_id="Europe/Berlin", locale="en-GB"
    )
    page = await context.new_page()
    page.set_default_timeout(30_000)
    seen = Seen(page, url)
    page.on("console", seen.note)
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    yield seen
    await context.close()
    assert seen.complaints == []


@pytest.fixture
async def fresh(browser: Browser, stage: Stage) -> AsyncIterator[Seen]:
    """The dashboard, nobody signed in."""
    async with opened(browser, stage.url) as seen:
        yield seen


@pytest.fixture
async def dashboard(fresh: Seen, stage: Stage) -> Seen:
    """The dashboard, signed in to the stage's account."""
    await fresh.sign_in(stage.tenant.private.token)
    return fresh
