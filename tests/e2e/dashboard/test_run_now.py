"""Starting a run by hand: what it will take, and what stands in its way."""

from __future__ import annotations

import re
from decimal import Decimal

from playwright.async_api import expect

from tests.e2e.dashboard.seen import Seen
from tests.factories.accounts import Tenant, make_tenant
from tests.stage import GOAL, Stage

TESTS = "/api/v1/agentic-tests"


async def tenant_with_test(stage: Stage, plan: str, credit: Decimal) -> tuple[Tenant, str]:
    """An account of a plan, and the id of its test."""
    tenant = await make_tenant(stage.services.database, "Small", plan=plan, credit=credit)
    gateway = {"name": "Shop", "base_url": stage.llms.base_url, "model": "assistant"}
    made = await stage.http.post("/api/v1/ai-gateways", json=gateway, headers=tenant.auth)
    body = {"name": "Boots", "gateway": made.json()["data"]["slug"], "goal": GOAL}
    answer = await stage.http.post(TESTS, json=body, headers=tenant.auth)
    return tenant, answer.json()["data"]["id"]


async def test_run_is_started_with_quota_and_money_in_sight(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    test_id = await stage.make_test(name="Boots")
    await dashboard.open("/tests")
    await page.get_by_role("button", name="Run Boots now").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_text("no limit")).to_be_visible()
    await expect(dialog.get_by_text("0 of 8")).to_be_visible()
    await expect(dialog.get_by_text("$100.00")).to_be_visible()
    await dashboard.looks_accessible()
    await dialog.get_by_label("Seed").fill("7")
    await dialog.get_by_role("button", name="Start the run").click()
    await page.wait_for_url(re.compile(f"/tests/{test_id}/runs/"))
    [run] = (await stage.http.get(f"{TESTS}/{test_id}/runs")).json()["data"]
    assert page.url.endswith(run["id"])
    assert (run["seed"], run["trigger"]) == (7, "manual")


async def test_two_clicks_start_one_run(dashboard: Seen, stage: Stage) -> None:
    test_id = await stage.make_test(name="Boots")
    await dashboard.open(f"/tests/{test_id}")
    await dashboard.page.get_by_role("button", name="Run Boots now").click()
    start = dashboard.page.get_by_role("button", name="Start the run")
    await start.evaluate("button => { button.click(); button.click(); }")
    await dashboard.page.wait_for_url(re.compile("/runs/"))
    assert len((await stage.http.get(f"{TESTS}/{test_id}/runs")).json()["data"]) == 1


async def test_used_up_quota_is_explained_with_the_time_it_ends(fresh: Seen, stage: Stage) -> None:
    tenant, test_id = await tenant_with_test(stage, "free", Decimal(10))
    for _ in range(5):
        answer = await stage.http.post(f"{TESTS}/{test_id}/runs", headers=tenant.auth)
        assert answer.status_code == 202
    await fresh.sign_in(tenant.private.token)
    await fresh.open(f"/tests/{test_id}")
    await fresh.page.get_by_role("button", name="Run Boots now").click()
    dialog = fresh.page.get_by_role("dialog")
    await expect(dialog.get_by_text("0 of 5")).to_be_visible()
    await dialog.get_by_role("button", name="Start the run").click()
    alert = dialog.get_by_role("alert")
    await expect(alert).to_contain_text("The plan allows 5 new runs in any 60 seconds, and they are used up.")
    await expect(alert).to_contain_text(re.compile(r"It can be tried again in \d+ s\."))
    assert await fresh.faults() == []


async def test_used_up_balance_is_explained(fresh: Seen, stage: Stage) -> None:
    tenant, test_id = await tenant_with_test(stage, "pro", Decimal(0))
    await fresh.sign_in(tenant.private.token)
    await fresh.open(f"/tests/{test_id}")
    await fresh.page.get_by_role("button", name="Run Boots now").click()
    dialog = fresh.page.get_by_role("dialog")
    await expect(dialog.get_by_text("$0.00")).to_be_visible()
    await dialog.get_by_role("button", name="Start the run").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("The account's balance is used up")
    await expect(dialog.get_by_role("link", name="See the balance")).to_be_visible()
    assert (await stage.http.get(f"{TESTS}/{test_id}/runs", headers=tenant.auth)).json()["data"] == []


async def test_runs_of_a_test_are_shown_filtered_and_chosen_to_compare(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    test_id = await stage.make_test(name="Boots", max_turns=2, profile="low")
    async with stage.worker():
        for _ in range(2):
            await stage.finished(await stage.start(test_id))
    await stage.http.post(f"{await stage.start(test_id)}/cancel")
    await dashboard.open(f"/tests/{test_id}")
    rows = page.locator("tbody tr")
    await expect(rows).to_have_count(3)
    await dashboard.looks_accessible()
    await page.get_by_label("State").select_option("cancelled")
    await expect(rows).to_have_count(1)
    assert page.url.endswith("?state=cancelled")
    await page.get_by_label("State").select_option("")
    await expect(rows).to_have_count(3)
    boxes = page.get_by_label("Choose this run to compare")
    await boxes.nth(1).check()
    await boxes.nth(2).check()
    runs = [run["id"] for run in (await stage.http.get(f"{TESTS}/{test_id}/runs")).json()["data"]]
    await page.get_by_role("link", name="Compare two").click()
    await page.wait_for_url(f"**/compare?left={runs[2]}&right={runs[1]}")
