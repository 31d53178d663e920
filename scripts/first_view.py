"""How soon the dashboard's first view is there, over a database with 100,000 runs.

`python -m scripts.first_view` fills a database of its own as `make bench-large` does, serves it by a
`parley api` of its own, and opens the overview of its largest account in Chromium: with nothing in the
browser's cache (cold), then once more (warm). All figures are milliseconds after the navigation began,
medians of the rounds:

- answer: the first byte of the page
- paint: the first text or picture
- content: the figures, lists and panels of the overview, nothing of it left to come

They belong to the machine; the load stands beside them, as anything above 1 makes them larger.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Final

import httpx
from playwright.async_api import Browser, BrowserContext, async_playwright

from parley.server.db.database import Database
from parley.server.ops.local.ports import free_port
from parley.server.ops.local.processes import Child, Program
from parley.server.ops.local.shared_servers import Servers
from scripts.bench_large import load, make_tenants, own_database
from tests.e2e.dashboard.chromium import FLAGS, chromium
from tests.factories.accounts import make_key
from tests.servers import running_servers

RUNS: Final = 100_000
ROUNDS: Final = 9
STARTED_WITHIN_S: Final = 30.0
MARKS: Final = ("answer", "paint", "content")

WATCH: Final = """window.contentAt = new Promise((done) => {
  const isThere = () => document.querySelector(".figures") && !document.querySelector(".loading");
  const watch = new MutationObserver(() => {
    if (!isThere()) return;
    watch.disconnect();
    requestAnimationFrame(() => done(performance.now()));
  });
  watch.observe(document, { childList: true, subtree: true });
})"""
TOLD: Final = """async () => {
  const content = await window.contentAt;
  const [page] = performance.getEntriesByType("navigation");
  const paint = await new Promise((done) => {
    const observer = new PerformanceObserver((list) => {
      const [found] = list.getEntriesByName("first-contentful-paint");
      if (found) done(found);
    });
    observer.observe({ type: "paint", buffered: true });
  });
  const files = performance.getEntriesByType("resource").map((one) =>
    [one.startTime, one.responseStart, one.responseEnd, one.transferSize, one.name]);
  return { answer: page.responseStart, paint: paint.startTime, content, files };
}"""


@contextlib.asynccontextmanager
async def serving(servers: Servers, database_url: str, folder: Path) -> AsyncIterator[str]:
    """`parley api` over the database; gives its address."""
    port = free_port()
    ours = {
        "PARLEY_DATABASE_URL": database_url,
        "PARLEY_REDIS_URL": servers.redis_url,
        "PARLEY_REDIS_PREFIX": f"first-view-{secrets.token_hex(4)}",
        "PARLEY_SECRET_KEYS": secrets.token_hex(32),
        "PARLEY_LLM_BASE_URL": "http://127.0.0.1:9/v1",
        "PARLEY_API_PORT": str(port),
    }
    others = {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")}
    api = Child(
        Program(
            name="api",
            argv=[sys.executable, "-m", "parley.server.ops.cli", "api"],
            env=others | ours,
            log=folder / "api.log",
            record=folder / "api.pid.json",
        )
    )
    try:
        url = f"http://127.0.0.1:{port}"
        await _answers(api, url)
        yield url
    finally:
        api.stop()


async def _answers(api: Child, url: str) -> None:
    deadline = time.monotonic() + STARTED_WITHIN_S
    async with httpx.AsyncClient(base_url=url) as client:
        while True:
            if api.exit_code() is not None:
                raise RuntimeError("\n".join(["the API ended while starting", *api.last_lines(5)]))
            try:
                await client.get("/livez")
                return
            except httpx.TransportError:
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def signed_in(browser: Browser, url: str, key: str) -> AsyncIterator[BrowserContext]:
    """A browser that has never been here, but for the session."""
    profile = await browser.new_context(viewport={"width": 1280, "height": 860})
    answer = await profile.request.post(
        f"{url}/api/v1/session",
        data={"key": key},
        headers={"Sec-Fetch-Site": "same-origin", "X-Parley-Client": "dashboard"},
    )
    assert answer.status == 201, await answer.text()
    await profile.add_init_script(WATCH)
    yield profile
    await profile.close()


async def view(profile: BrowserContext, url: str) -> dict[str, Any]:
    """Open the page in a new tab, and wait for all of it."""
    page = await profile.new_page()
    await page.goto(url)
    told: dict[str, Any] = await page.evaluate(TOLD)
    await page.close()
    return told


def middle(views: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The view whose content came in the median time."""
    return sorted(views, key=lambda one: one["content"])[len(views) // 2]


def line(name: str, views: Sequence[dict[str, Any]]) -> str:
    """The medians, and the extremes of the content."""
    figures = [f"{mark} {statistics.median(one[mark] for one in views):.0f}" for mark in MARKS]
    spread = sorted(one["content"] for one in views)
    return f"{name}: {', '.join(figures)} ms (content {spread[0]:.0f} to {spread[-1]:.0f})"


def waterfall(seen: dict[str, Any]) -> str:
    """Each file of a view: when it was asked for, answered and there, and its size on the wire."""
    rows = [
        f"{start:7.0f} {first:7.0f} {end:7.0f} {size:8.0f}  {name.split('/', 3)[-1]}"
        for start, first, end, size, name in sorted(seen["files"])
    ]
    return "\n".join(["  asked answered   there    bytes  file", *rows])


async def measured(
    servers: Servers, size: int, rounds: int, path: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Load, serve and look; the cold views and the warm ones."""
    cold, warm = [], []
    async with own_database(servers.postgres_url) as database_url, async_playwright() as playwright:
        database = Database(database_url)
        try:
            tenants = await make_tenants(database)
            await load(database_url, database, tenants, size)
            key = (await make_key(database, tenants.accounts[0])).token
        finally:
            await database.close()
        browser = await playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        with tempfile.TemporaryDirectory(prefix="parley-first-view-") as folder:
            async with serving(servers, database_url, Path(folder)) as url:
                for _ in range(rounds):
                    async with signed_in(browser, url, key) as profile:
                        cold.append(await view(profile, url + path))
                        await view(profile, url + path)
                        warm.append(await view(profile, url + path))
        await browser.close()
    return cold, warm


def main(given: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m scripts.first_view", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--path", default="/?days=30", help="within the overview")
    parser.add_argument("--waterfall", action="store_true", help="list the files of the middle views")
    parser.add_argument("--json", type=Path, help="keep everything here")
    asked = parser.parse_args(given)
    if chromium() is None:
        parser.error("no Chromium on this machine")
    with running_servers() as servers:
        cold, warm = asyncio.run(measured(servers, asked.runs, asked.rounds, asked.path))
    for name, views in (("cold", cold), ("warm", warm)):
        print(line(name, views))
        if asked.waterfall:
            print(waterfall(middle(views)))
    print(
        f"{asked.runs:,} runs, {asked.rounds} rounds, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    if asked.json:
        asked.json.write_text(json.dumps({"cold": cold, "warm": warm}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
