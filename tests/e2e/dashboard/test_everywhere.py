"""What holds on every page: deep links, Back, keyboard, times, themes, trouble on the way, the policy."""

from __future__ import annotations

import re

from playwright.async_api import Route, expect

from tests.e2e.dashboard.seen import Seen
from tests.stage import Stage


async def test_links_reload_and_back_lead_where_they_should(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    test_id = await stage.make_test(name="Boots")
    await dashboard.open(f"/tests/{test_id}")
    await dashboard.heading("Boots")
    await page.reload()
    await dashboard.heading("Boots")
    assert await page.title() == "Boots - Parley"
    await page.get_by_role("link", name="Edit").click()
    await dashboard.heading("Edit Boots")
    await expect(page.get_by_role("heading", level=1)).to_be_focused()
    await page.go_back()
    await dashboard.heading("Boots")
    await page.go_forward()
    await dashboard.heading("Edit Boots")
    await dashboard.open("/nowhere/at/all")
    assert "not_found" in await page.content()


async def test_pages_are_reached_by_keyboard_alone(dashboard: Seen) -> None:
    page = dashboard.page
    await dashboard.open("/evaluations")
    await page.get_by_role("heading", level=1).wait_for()
    await page.bring_to_front()
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    for name in ("Parley", "Overview", "Tests"):
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("link", name=name, exact=True)).to_be_focused()
    await page.keyboard.press("Enter")
    await dashboard.heading("Tests")
    await expect(page.get_by_role("heading", level=1)).to_be_focused()
    await page.get_by_role("button", name="Import").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("dialog")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_be_hidden()
    await expect(page.get_by_role("button", name="Import")).to_be_focused()


async def test_times_are_the_readers_with_utc_on_hover(dashboard: Seen, stage: Stage) -> None:
    test_id = await stage.make_test(name="Boots", cron="30 6 15 1 *")
    await dashboard.open(f"/tests/{test_id}")
    moment = dashboard.page.locator("time", has_text=re.compile("15 Jan")).first
    await expect(moment).to_have_text(re.compile(r"07:30$"))
    await expect(moment).to_have_attribute("title", re.compile(r"07:30 \(20\d\d-01-15 06:30 UTC\)$"))


async def test_theme_follows_the_system_until_it_is_chosen(dashboard: Seen) -> None:
    page = dashboard.page
    await dashboard.open("/account")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    light = await page.evaluate(ground)
    await page.emulate_media(color_scheme="dark")
    dark = await page.evaluate(ground)
    assert light != dark
    switch = page.get_by_role("button", name=re.compile("^Colours"))
    await switch.click()
    assert await page.evaluate(ground) == light
    await page.reload()
    await switch.wait_for()
    assert await page.evaluate(ground) == light
    await switch.click()
    await switch.click()
    assert await page.evaluate(ground) == dark


async def test_trouble_is_told_and_tried_again(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    await stage.make_test(name="Boots")

    async def broken(route: Route) -> None:
        body = '{"error": "The database does not answer; try again shortly.", "code": "database_unavailable"}'
        headers = {"Retry-After": "2", "X-Request-Id": "request-7", "Content-Type": "application/json"}
        await route.fulfill(status=503, headers=headers, body=body)

    async def away(route: Route) -> None:
        await route.abort()

    for trouble, words in ((broken, "The database does not answer"), (away, "The service does not answer")):
        await page.route("**/api/v1/agentic-tests?**", trouble)
        await dashboard.open("/tests")
        await expect(page.get_by_role("alert")).to_contain_text(words)
        await dashboard.looks_accessible()
        await page.unroute("**/api/v1/agentic-tests?**")
        await page.get_by_role("button", name="Try again").click()
        await page.get_by_role("link", name="Boots").wait_for()


ATTEMPTS = {
    "script": "const made = document.createElement('script'); made.textContent = 'window.got = 1'; "
    "document.body.append(made)",
    "markup": "document.body.insertAdjacentHTML('beforeend', '<b id=got>x</b>')",
    "eval": "window.got = eval('1')",
    "other server": "await fetch('http://127.0.0.2:9/').then(() => { window.got = 1 })",
}


async def test_policy_lets_nothing_foreign_in(dashboard: Seen) -> None:
    page = dashboard.page
    await dashboard.open("/account")
    for name, attempt in ATTEMPTS.items():
        # From a timer, so that it runs as the page's own code does and not as the debugger's.
        tried = f"async () => {{ try {{ {attempt} }} catch {{ }} }}"
        await page.evaluate(f"() => new Promise(done => setTimeout(() => ({tried})().then(done), 0))")
        assert await page.evaluate("window.got === undefined"), name
        refused = list(dashboard.complaints)
        dashboard.complaints.clear()
        assert refused, name
