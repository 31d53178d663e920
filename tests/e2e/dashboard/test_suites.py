"""Suites as a person makes, changes, schedules and runs them."""

from __future__ import annotations

import re

from playwright.async_api import expect

from tests.e2e.dashboard.seen import Seen
from tests.stage import Stage

API = "/api/v1/suites"


async def make_suite(stage: Stage, name: str, tests: list[str], **fields: object) -> str:
    """A suite of these tests, all in the split smoke."""
    body = {"name": name, "cases": [{"test_id": one, "splits": ["smoke"]} for one in tests]} | fields
    answer = await stage.http.post(API, json=body)
    assert answer.status_code == 201, answer.text
    made: str = answer.json()["data"]["id"]
    return made


async def test_suite_is_made_and_changed(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    for name in ("Boots", "Refund", "Opening hours"):
        await stage.make_test(name=name)
    await dashboard.open("/evaluations/suites")
    await page.get_by_role("heading", name="No suite yet").wait_for()
    await dashboard.looks_accessible()
    await page.get_by_role("link", name="Make the first suite").click()
    await dashboard.heading("New suite")
    await page.get_by_role("button", name="Make the suite").click()
    await expect(page.get_by_label("Name", exact=True)).to_have_attribute("aria-invalid", "true")
    await page.get_by_label("Name", exact=True).fill("Returns")
    await page.get_by_role("button", name="Add Boots").click()
    await page.get_by_label("Add tests").fill("Ref")
    await expect(page.get_by_role("button", name="Add Opening hours")).to_be_hidden()
    await page.get_by_role("button", name="Add Refund").click()
    await page.get_by_label("Splits of Refund").fill("smoke, nightly")
    await page.get_by_role("button", name="daily at 6", exact=True).click()
    await page.get_by_label("Repetitions").fill("2")
    await page.get_by_text("Next:").wait_for()
    # Else what has been scrolled under the bar on top has too small a part in sight.
    await page.evaluate("scrollTo(0, 0)")
    await dashboard.looks_accessible()
    await page.get_by_role("button", name="Make the suite").click()
    await dashboard.heading("Returns")
    [line] = (await stage.http.get(API)).json()["data"]
    made = (await stage.http.get(f"{API}/{line['id']}")).json()["data"]
    assert [(one["name"], one["splits"]) for one in made["cases"]] == [
        ("Boots", []),
        ("Refund", ["smoke", "nightly"]),
    ]
    assert (made["cron"], made["enabled"], made["defaults"]["repetitions"]) == ("0 6 * * *", True, 2)
    await page.get_by_role("link", name="Edit").click()
    await page.get_by_role("button", name="Take out Boots").click()
    await page.get_by_role("button", name="Save").click()
    await dashboard.heading(re.compile("^Returns$"))
    changed = (await stage.http.get(f"{API}/{line['id']}")).json()["data"]
    assert [one["name"] for one in changed["cases"]] == ["Refund"]
    await page.get_by_role("button", name="Pause the schedule").click()
    await page.get_by_text("paused", exact=True).wait_for()
    assert (await stage.http.get(f"{API}/{line['id']}")).json()["data"]["enabled"] is False
    await page.get_by_role("button", name="Delete").click()
    await page.get_by_role("button", name="Delete the suite").click()
    await page.get_by_role("heading", name="No suite yet").wait_for()
    assert (await stage.http.get(API)).json()["data"] == []


async def test_suite_is_run_and_its_cases_lead_to_their_runs(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    tests = [await stage.make_test(name=name, max_turns=2, profile="low") for name in ("Boots", "Refund")]
    suite = await make_suite(stage, "Returns", tests)
    await dashboard.open("/evaluations/suites")
    await page.get_by_role("button", name="Run Returns now").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Branch").fill("main")
    await dialog.get_by_label("Split").select_option("smoke")
    assert await dashboard.faults() == []
    async with stage.worker():
        await dialog.get_by_role("button", name="Start").click()
        await dashboard.heading("Returns")
        await expect(page.locator(".page-head").get_by_text("completed")).to_be_visible(timeout=90_000)
    rows = page.get_by_role("table", name="Case results").locator("tbody tr")
    await expect(rows).to_have_count(2)
    [evaluation] = (await stage.http.get("/api/v1/evaluations", params={"suite": suite})).json()["data"]
    assert (evaluation["branch"], evaluation["split"], evaluation["case_count"]) == ("main", "smoke", 2)
    await rows.nth(0).get_by_role("link").click()
    await dashboard.heading("Boots")
    await dashboard.looks_accessible()
    await page.get_by_role("link", name="The run, turn by turn").click()
    await page.wait_for_url(re.compile(f"/tests/{tests[0]}/runs/"))
    await page.get_by_role("heading", level=1).wait_for()
    await dashboard.open(f"/evaluations/suites/{suite}")
    last = page.get_by_role("table", name="Last evaluations").locator("tbody tr")
    await expect(last).to_have_count(1)
    await dashboard.looks_accessible()
