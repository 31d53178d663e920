"""The overview page: what it tells of an account with a history, and of one without."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from tests.e2e.dashboard.seen import Seen
from tests.factories.ended_runs import end_run, make_running
from tests.stage import Stage


async def make_test(stage: Stage, name: str, letters: str, **fields: Any) -> UUID:
    """A test whose runs have ended in these ways."""
    body = {"name": name, "gateway": stage.gateway["slug"], "goal": "Get a refund"} | fields
    answer = await stage.http.post("/api/v1/agentic-tests", json=body)
    test_id = UUID(answer.json()["data"]["id"])
    for letter in letters:
        await end_run(stage.services.database, stage.tenant.account_id, test_id, letter)
    return test_id


async def test_account_without_runs_is_told_what_to_do_first(dashboard: Seen) -> None:
    await dashboard.open("/")
    await dashboard.heading("Overview")
    await dashboard.page.get_by_role("heading", name="No run in this time").wait_for()
    await dashboard.page.get_by_text("No test has a schedule.").wait_for()
    await dashboard.looks_accessible()


async def test_broken_recovered_open_and_due_tests_are_told_of(dashboard: Seen, stage: Stage) -> None:
    await make_test(stage, "Refund of a parcel", "sl")
    await make_test(stage, "Opening hours", "fs")
    nightly = await make_test(stage, "Nightly check", "ss", cron="30 6 * * *")
    await make_running(stage.services.database, stage.tenant.account_id, nightly)
    await dashboard.open("/")
    page = dashboard.page
    failing = page.get_by_role("table", name="Tests that do not pass")
    await failing.get_by_role("link", name="Refund of a parcel").wait_for()
    assert "since this run" in await failing.inner_text()
    recovered = page.get_by_role("table", name="Tests that recovered")
    await recovered.get_by_role("link", name="Opening hours").wait_for()
    assert await page.locator(".figure").all_inner_texts() == [
        "Broke\n1",
        "Still failing\n0",
        "Recovered\n1",
        "Passing\n2",
    ]
    due = page.locator("section", has=page.get_by_role("heading", name="Next up"))
    await due.get_by_role("link", name="Nightly check").wait_for()
    await dashboard.looks_accessible()


async def test_span_stands_in_the_address(dashboard: Seen) -> None:
    asked: list[str] = []
    dashboard.page.on("request", lambda one: asked.append(one.url) if "/api/" in one.url else None)
    await dashboard.open("/")
    await dashboard.page.get_by_text("$0.00").first.wait_for()
    # What the page asks for before its modules are there is what they want, to the letter.
    assert await dashboard.page.evaluate("asked.size") == 0
    assert len(asked) == len(set(asked)) == 5
    await dashboard.page.get_by_role("link", name="30 days").click()
    await dashboard.page.get_by_text("over the last 30 days").wait_for()
    await dashboard.page.reload()
    await dashboard.page.get_by_text("over the last 30 days").wait_for()
    assert dashboard.page.url.endswith("/?days=30")
