"""Evaluations as a person reads them: the list, the cases, the comparison, the gate and its history."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from playwright.async_api import Route, expect

from tests.e2e.dashboard.seen import Seen
from tests.factories.evaluations import Rating, evaluated, make_dataset, open_evaluation
from tests.stage import Stage

API = "/api/v1/evaluations"
BEFORE: list[Rating | Sequence[Rating]] = [9, 8, 9, 8, 9, 8, 9, 8, 9, 8]
AFTER: list[Rating | Sequence[Rating]] = [4, 8, 9, 5, 9, "failed", 9, 9.8, 9, None]


async def dataset(stage: Stage, name: str = "Support questions") -> UUID:
    return await make_dataset(stage.services.database, stage.tenant.scope, name)


async def made(stage: Stage, of: UUID, ratings: Sequence[Rating | Sequence[Rating]], **fields: Any) -> str:
    """An evaluation that is complete with these ratings."""
    fields = {"name": "Support questions", "branch": "main", "commit": "4f0c2d1"} | fields
    return str(await evaluated(stage.services.database, stage.tenant.scope, of, ratings, **fields))


async def test_account_without_evaluations_is_told_what_to_do_first(dashboard: Seen) -> None:
    page = dashboard.page
    await dashboard.open("/evaluations")
    await page.get_by_role("heading", name="No evaluation yet").wait_for()
    await dashboard.looks_accessible()
    await page.get_by_role("navigation", name="Evaluations").get_by_role("link", name="Gates").click()
    await page.get_by_role("heading", name="No gate is recorded yet").wait_for()
    await dashboard.looks_accessible()


async def test_list_is_filtered_by_its_address(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    first, other = await dataset(stage), await dataset(stage, "Others")
    await made(stage, first, BEFORE)
    await made(stage, first, AFTER, branch="side", commit="7ab11f0")
    await made(stage, other, [9], name="Others")
    await open_evaluation(stage.services.database, stage.tenant.scope, first, name="Support questions")
    await dashboard.open("/evaluations")
    rows = page.get_by_role("table", name="Evaluations").locator("tbody tr")
    await expect(rows).to_have_count(4)
    await expect(rows.nth(0)).to_contain_text("in progress")
    await page.get_by_label("Dataset or suite").select_option("Support questions")
    await expect(rows).to_have_count(3)
    await expect(page.get_by_role("link", name="Mean 8.5 at 4f0c2d1, main")).to_be_visible()
    await dashboard.looks_accessible()
    await page.get_by_label("Branch").fill("side")
    await expect(rows).to_have_count(1)
    await page.get_by_label("State").select_option("failed")
    await page.get_by_role("heading", name="No evaluation fits").wait_for()
    assert page.url.endswith(f"/evaluations?dataset={first}&branch=side&state=failed")
    await page.reload()
    await page.get_by_role("heading", name="No evaluation fits").wait_for()
    await expect(page.get_by_label("Branch")).to_have_value("side")


async def test_cases_tell_how_they_came_out_and_why(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    evaluation = await made(stage, await dataset(stage), [[9, 5], ["failed", 8], [None, 10]])
    await dashboard.open(f"/evaluations/{evaluation}")
    await dashboard.heading("Support questions")
    rows = page.get_by_role("table", name="Case results").locator("tbody tr")
    await expect(rows).to_have_count(6)
    await expect(rows.nth(1)).to_contain_text("not passed")
    await expect(rows.nth(2)).to_contain_text("The agent took too long.")
    await expect(page.get_by_text("Passed in some repetitions and not in others")).to_contain_text("c0, c1")
    await dashboard.looks_accessible()
    await page.get_by_label("Results").select_option("skipped")
    await expect(rows).to_have_count(1)
    assert page.url.endswith("?status=skipped")
    await page.get_by_label("Results").select_option("")
    await expect(rows).to_have_count(6)
    await rows.nth(0).get_by_role("link").click()
    await dashboard.heading("Question 0")
    await expect(page.get_by_text("Because.")).to_be_visible()
    await expect(page.get_by_label("Question", exact=True)).to_contain_text("Question 0?")
    await expect(page.get_by_label("Answer", exact=True)).to_contain_text("An answer.")
    await dashboard.looks_accessible()
    await page.get_by_role("link", name=re.compile("^Repetition 2")).click()
    await expect(page.get_by_role("link", name=re.compile("^Repetition 2"))).to_have_attribute(
        "aria-current", "page"
    )
    await expect(page.locator(".figure").first).to_contain_text("5")


async def test_comparison_tells_what_moved_and_how_sure_that_is(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    of = await dataset(stage)
    before = await made(stage, of, BEFORE)
    after = await made(stage, of, AFTER)
    told = (await stage.http.get(f"{API}/{after}/compare")).json()["data"]
    await dashboard.open(f"/evaluations/{after}")
    await page.get_by_role("link", name="Compare", exact=True).click()
    await expect(page.get_by_text(told["words"])).to_be_visible()
    await expect(page.get_by_label("Baseline")).to_have_value(before)
    await expect(page.get_by_role("img", name=re.compile("interval from"))).to_be_visible()
    rows = page.get_by_role("table", name="Cases on both sides").locator("tbody tr")
    await expect(rows).to_have_count(10)
    await dashboard.looks_accessible()
    await page.get_by_role("link", name="regressed 3").click()
    await expect(rows).to_have_count(3)
    assert page.url.endswith("?class=regressed")
    await rows.nth(0).get_by_role("link").click()
    await page.wait_for_url(f"**/evaluations/{after}?case=c0")
    await expect(page.get_by_role("table", name="Case results").locator("tbody tr")).to_have_count(1)


async def test_what_cannot_be_compared_says_why(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    of = await dataset(stage)
    before = await made(stage, of, BEFORE, grading={"criteria": "Be kind.", "pass_rating": 7})
    after = await made(stage, of, AFTER)
    await dashboard.open(f"/evaluations/{after}/compare")
    await page.get_by_role("heading", name="Nothing to compare with").wait_for()
    await dashboard.looks_accessible()
    await page.get_by_label("Baseline").select_option(before)
    refused = page.get_by_role("status").filter(has_text="These cannot be compared")
    await expect(refused).to_contain_text("The grader:")
    assert page.url.endswith(f"?baseline={before}")
    await dashboard.looks_accessible()


async def test_pin_is_set_and_taken_away(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    evaluation = await made(stage, await dataset(stage), BEFORE)
    await dashboard.open(f"/evaluations/{evaluation}")
    await page.get_by_role("button", name="Pin as baseline").click()
    await expect(page.locator(".page-head").get_by_text("pinned")).to_be_visible()
    assert (await stage.http.get(f"{API}/{evaluation}")).json()["data"]["pinned"] is True
    await dashboard.open("/evaluations")
    await expect(page.get_by_role("table", name="Evaluations").get_by_text("pinned")).to_be_visible()
    await dashboard.open(f"/evaluations/{evaluation}")
    await page.get_by_role("button", name="Take the pin away").click()
    await page.get_by_role("button", name="Pin as baseline").wait_for()
    assert (await stage.http.get(f"{API}/{evaluation}")).json()["data"]["pinned"] is False


async def test_open_evaluation_is_cancelled(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    of = await dataset(stage)
    scope = stage.tenant.scope
    evaluation = await open_evaluation(stage.services.database, scope, of)
    await dashboard.open(f"/evaluations/{evaluation}")
    await page.get_by_role("heading", name="No result yet").wait_for()
    await page.get_by_role("button", name="Cancel", exact=True).click()
    await page.get_by_role("button", name="Cancel it").click()
    await expect(page.locator(".page-head").get_by_text("cancelled")).to_be_visible()
    assert (await stage.http.get(f"{API}/{evaluation}")).json()["data"]["state"] == "cancelled"


async def test_gate_is_asked_recorded_and_remembered(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    of = await dataset(stage)
    await made(stage, of, BEFORE)
    evaluation = await made(stage, of, [*AFTER[:-1], 7])
    await dashboard.open(f"/evaluations/{evaluation}/gate")
    await page.get_by_role("heading", name="Nothing is asked yet").wait_for()
    await page.get_by_label("Mean at least").fill("7.5")
    await page.get_by_label("No regression of the mean").check()
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name="Ask").click()
    checks = page.get_by_role("table", name="Checks of the gate").locator("tbody tr")
    await expect(checks).to_have_count(3)
    await expect(page.get_by_text("It does not pass.")).to_be_visible()
    assert page.url.endswith("?failUnder=7.5&noRegression=true")
    await dashboard.looks_accessible()
    await page.get_by_role("button", name="Record this answer").click()
    await page.get_by_role("link", name="See the gates").click()
    rows = page.get_by_role("table", name="Recorded gates").locator("tbody tr")
    await expect(rows).to_have_count(1)
    await expect(rows.nth(0)).to_contain_text("The mean rating")
    await expect(rows.nth(0)).to_contain_text("dashboard")
    [record] = (await stage.http.get("/api/v1/gates")).json()["data"]
    assert (record["caller"], record["verdict"], record["evaluation_id"]) == (
        "dashboard",
        "failed",
        evaluation,
    )


async def test_gate_that_is_asked_nonsense_says_what_is_wrong(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    evaluation = await made(stage, await dataset(stage), BEFORE)
    await dashboard.open(f"/evaluations/{evaluation}/gate?failUnder=11")
    field = page.get_by_label("Mean at least")
    await expect(field).to_have_attribute("aria-invalid", "true")
    await dashboard.looks_accessible()
    await field.fill("6")
    await page.get_by_role("button", name="Ask").click()
    await page.get_by_text("It passes: every check does.").wait_for()


async def test_newest_is_asked_for_what_was_asked_before(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    of = await dataset(stage)
    for ratings, mark in ((BEFORE, 7), ([*AFTER[:-1], 7], 8), (BEFORE, 8)):
        evaluation = await made(stage, of, ratings)
        query = {"failUnder": str(mark), "caller": "ci"}
        assert (await stage.http.post(f"{API}/{evaluation}/gate", params=query)).status_code == 200
    await made(stage, of, AFTER)
    await dashboard.open("/evaluations/gates")
    rows = page.get_by_role("table", name="Recorded gates").locator("tbody tr")
    await expect(rows).to_have_count(3)
    await page.get_by_label("Dataset or suite").select_option("Support questions")
    preview = page.locator("section", has=page.get_by_role("heading", name="Would the newest pass now?"))
    await expect(preview.get_by_text("It does not pass.")).to_be_visible()
    await expect(preview.get_by_text("fail-under")).to_be_visible()
    await expect(page.get_by_role("link", name=re.compile("^failed with a mean of"))).to_be_visible()
    await dashboard.looks_accessible()
    await preview.get_by_text("Asked as in the last recorded gate").click()
    await preview.get_by_label("Mean at least").fill("2")
    await preview.get_by_label("Coverage at least").fill("0.5")
    await preview.get_by_role("button", name="Ask").click()
    await expect(preview.get_by_text("It passes: every check does.")).to_be_visible()
    await page.get_by_label("Verdict").select_option("failed")
    await expect(rows).to_have_count(1)
    await page.reload()
    await expect(rows).to_have_count(1)
    await expect(preview.get_by_text("It passes: every check does.")).to_be_visible()


async def test_anothers_evaluation_is_nothing_here(dashboard: Seen) -> None:
    unknown = "01a22cd1-1c69-7435-8e3a-8a2be0d79950"
    for rest in ("", "/compare", "/gate", f"/cases/{unknown}"):
        await dashboard.open(f"/evaluations/{unknown}{rest}")
        await dashboard.heading("There is nothing here")


async def test_trouble_is_told_and_tried_again(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    evaluation = await made(stage, await dataset(stage), BEFORE)

    async def broken(route: Route) -> None:
        body = '{"error": "The database does not answer; try again shortly.", "code": "database_unavailable"}'
        await route.fulfill(status=503, headers={"Content-Type": "application/json"}, body=body)

    pages = ["", f"/{evaluation}", f"/{evaluation}/compare?baseline={evaluation}", "/gates"]
    for path in pages:
        await page.route(re.compile(r"/api/v1/(evaluations|gates)"), broken)
        await dashboard.open(f"/evaluations{path}")
        await expect(page.get_by_role("alert").first).to_contain_text("The database does not answer")
        assert await dashboard.faults() == []
        await page.unroute(re.compile(r"/api/v1/(evaluations|gates)"))
        await page.get_by_role("button", name="Try again").first.click()
        await expect(page.get_by_role("alert")).to_have_count(0)


async def test_figures_are_reached_by_keyboard_alone(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    of = await dataset(stage)
    await made(stage, of, BEFORE)
    evaluation = await made(stage, of, AFTER)
    await dashboard.open(f"/evaluations?dataset={of}")
    point = page.get_by_role("link", name=re.compile("^Mean 6.98"))
    await point.wait_for()
    await page.bring_to_front()
    await page.get_by_label("Split").focus()
    await page.keyboard.press("Tab")
    await page.keyboard.press("Tab")
    await expect(point).to_be_focused()
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"**/evaluations/{evaluation}")
    await dashboard.heading("Support questions")
