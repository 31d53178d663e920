"""A run of 64 turns with long answers, and a test with 5,000 runs.

`PARLEY_TEST_LONG_TASKS=1` also measures the longest task of the browser while they open and are scrolled
through, three times, and prints the median. It depends on the machine, so nothing is asserted of it.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Awaitable, Callable
from uuid import UUID

import pytest
from playwright.async_api import expect

from tests.e2e.dashboard.seen import Seen
from tests.factories.told_runs import multiply, tell, turn_of
from tests.stage import Stage

measured = pytest.mark.skipif(
    os.environ.get("PARLEY_TEST_LONG_TASKS") != "1", reason="measures only with PARLEY_TEST_LONG_TASKS=1"
)
TURNS = 64
RUNS = 5_000
PARAGRAPH = (
    "Your order **1042** left our house on Monday; the `label` is in the parcel.\n\n"
    "- Put the boots back into their box\n- Close it with the *tape* that came with it\n\n"
)
ANSWER = PARAGRAPH * (16_000 // len(PARAGRAPH) + 1)
"""Some 4,000 tokens."""

WATCH = """() => {
  window.tasks = [];
  new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((one) => one.duration)))
    .observe({ type: "longtask", buffered: true });
}"""
SCROLL = """async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  for (const way of [1, -1]) {
    const end = way > 0 ? document.documentElement.scrollHeight : 0;
    for (let step = 0; step < 120 && Math.abs(scrollY + (way > 0 ? innerHeight : 0) - end) > 2; step += 1) {
      scrollBy(0, way * 1200);
      await frame();
    }
  }
  await new Promise((done) => setTimeout(done, 200));
}"""


async def long_run(stage: Stage, test_id: str) -> str:
    """A run of 64 turns whose answers have 4,000 tokens each; the dashboard's address."""
    path = await stage.start(test_id)
    entries = [
        entry
        for turn in range(1, TURNS + 1)
        for entry in turn_of(turn, f"And then, after step {turn}?", ANSWER, 0.5, reasoning="Weighed. " * 60)
    ]
    run_id = path.rsplit("/", 1)[1]
    await tell(stage.services.database, UUID(run_id), entries)
    return f"/tests/{test_id}/runs/{run_id}"


async def test_deep_link_into_a_long_run_leads_to_its_turn(dashboard: Seen, stage: Stage) -> None:
    path = await long_run(stage, await stage.make_test(max_turns=TURNS))
    page = dashboard.page
    await dashboard.open(f"{path}#turn-60")
    await expect(page.locator("#turn-60 .turn-head")).to_be_in_viewport()
    await expect(page.locator(".turn")).to_have_count(TURNS)
    await dashboard.open(f"{path}?markdown=1#turn-2")
    await expect(page.locator("#turn-2 .turn-head")).to_be_in_viewport()
    await expect(page.locator("#turn-2 .message.assistant strong").first).to_have_text("1042")


async def test_oldest_of_many_runs_are_reached_page_by_page(dashboard: Seen, stage: Stage) -> None:
    test_id = await stage.make_test(max_turns=TURNS)
    first = (await stage.start(test_id)).rsplit("/", 1)[1]
    await tell(stage.services.database, UUID(first), turn_of(1, "Hello", "Good day", 0.5))
    ids = await multiply(stage.services.database, UUID(first), RUNS)
    page = dashboard.page
    await dashboard.open(f"/tests/{test_id}")
    rows = page.get_by_role("table", name="Runs").locator("tbody tr")
    await expect(rows).to_have_count(25)
    await page.get_by_role("button", name="older").click()
    await expect(rows).to_have_count(50)
    await expect(page.locator(f'a[href$="{ids[-50]}"]')).to_be_visible()
    await dashboard.open(f"/tests/{test_id}/compare?by=time&split=2020-01-01T00:00:00Z")
    await expect(page.get_by_text("No run on the left was carried out to an outcome.")).to_be_visible()
    await expect(page.get_by_role("row").filter(has_text="Runs carried out")).to_contain_text("300 of 300")


def show(*figures: object) -> None:
    """Tell a person."""
    print(*figures)  # noqa: T201 - the figures are what the measurement is for


async def measure(dashboard: Seen, name: str, act: Callable[[], Awaitable[None]]) -> None:
    """Show the median of three longest tasks of the page's main thread: by the clock, and of its own work.

    The first is what the browser reports (nothing under 50 ms), and on a busy machine mostly waiting.
    """
    page, clock, work = dashboard.page, [], []
    await page.context.add_init_script(f"({WATCH})()")
    browser = page.context.browser
    assert browser is not None
    for _ in range(3):
        await dashboard.open("/tests")
        await browser.start_tracing(
            page=page, categories=["toplevel", "disabled-by-default-devtools.timeline"]
        )
        await act()
        await page.evaluate(SCROLL)
        clock.append(max(await page.evaluate("window.tasks"), default=0))
        work.append(longest_work(await browser.stop_tracing()))
    show(f"{name}: {statistics.median(clock):.0f} ms by the clock, {statistics.median(work):.0f} ms of work,")
    show(f"  load {os.getloadavg()[0]:.1f}, all three {[f'{one:.0f}' for one in (*clock, *work)]}")


def longest_work(trace: bytes) -> float:
    """The most processor time that one task of a page's main thread took, milliseconds."""
    events = json.loads(trace)["traceEvents"]
    pages = {
        (one["pid"], one["tid"])
        for one in events
        if one.get("name") == "thread_name" and one["args"]["name"] == "CrRendererMain"
    }
    tasks = [
        one.get("tdur", 0) / 1000
        for one in events
        if one.get("name", "").endswith("RunTask") and (one["pid"], one["tid"]) in pages
    ]
    return max(tasks, default=0.0)


@measured
@pytest.mark.timeout(1_800)
async def test_long_run_is_measured(dashboard: Seen, stage: Stage) -> None:
    path = await long_run(stage, await stage.make_test(max_turns=TURNS))
    page = dashboard.page

    async def opened() -> None:
        await dashboard.open(path)
        await expect(page.locator(".turn")).to_have_count(TURNS)

    async def as_markdown() -> None:
        await opened()
        await page.get_by_label("show Markdown").check()
        await expect(page.locator(".message.assistant strong").first).to_be_visible()

    async def beside_itself() -> None:
        run = path.rsplit("/", 1)[1]
        await dashboard.open(f"{path.split('/runs/')[0]}/compare?left={run}&right={run}")
        await expect(page.locator(".turn")).to_have_count(TURNS)

    for act in (opened, as_markdown, beside_itself):
        await measure(dashboard, f"64 turns, {act.__name__}", act)


@measured
@pytest.mark.timeout(1_800)
async def test_many_runs_are_measured(dashboard: Seen, stage: Stage) -> None:
    test_id = await stage.make_test(max_turns=TURNS)
    first = (await stage.start(test_id)).rsplit("/", 1)[1]
    await tell(stage.services.database, UUID(first), turn_of(1, "Hello", "Good day", 0.5))
    await multiply(stage.services.database, UUID(first), RUNS)
    page = dashboard.page
    rows = page.get_by_role("table", name="Runs").locator("tbody tr")

    async def paged() -> None:
        await dashboard.open(f"/tests/{test_id}")
        for pages in range(1, 11):
            await expect(rows).to_have_count(25 * pages)
            await page.get_by_role("button", name="older").click()

    async def compared() -> None:
        await dashboard.open(f"/tests/{test_id}/compare")
        await expect(page.get_by_role("row").filter(has_text="Runs carried out")).to_be_visible()

    for act in (paged, compared):
        await measure(dashboard, f"5,000 runs, {act.__name__}", act)
