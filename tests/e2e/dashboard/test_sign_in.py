"""Signing in and out, by key and by link, as one account and as several."""

from __future__ import annotations

import re

from playwright.async_api import Browser, expect

from tests.e2e.dashboard.conftest import new_profile
from tests.e2e.dashboard.seen import Seen
from tests.factories.accounts import make_key, make_tenant
from tests.stage import Stage


async def link_of(stage: Stage) -> str:
    """A sign-in link, as `parley dev` prints it."""
    made = await stage.http.post("/api/v1/session/links")
    url: str = made.json()["data"]["url"]
    return url.removeprefix(stage.url)


async def test_signs_in_with_a_key_and_arrives_where_the_reader_wanted_to_go(
    fresh: Seen, stage: Stage
) -> None:
    await fresh.open("/tests?search=boots")
    await fresh.heading("Sign in to Parley")
    await fresh.looks_accessible()
    await fresh.page.get_by_label("Private key").fill(stage.tenant.public.token)
    await fresh.page.keyboard.press("Enter")
    await expect(fresh.page.get_by_text("A public key may not do this")).to_be_visible()
    await fresh.page.get_by_label("Private key").fill(stage.tenant.private.token)
    await fresh.page.keyboard.press("Enter")
    await fresh.heading("Tests")
    assert fresh.page.url == f"{stage.url}/tests?search=boots"
    await expect(fresh.page.get_by_label("Search names")).to_have_value("boots")
    kept = await fresh.page.evaluate("JSON.stringify([document.cookie, localStorage, sessionStorage])")
    assert stage.tenant.private.token not in kept
    assert "parley" not in await fresh.page.evaluate("document.cookie")


async def test_link_signs_in_once_and_leaves_the_address_bar(
    fresh: Seen, browser: Browser, stage: Stage
) -> None:
    link = await link_of(stage)
    await fresh.open(link)
    await fresh.page.locator("header.bar").wait_for()
    assert "link" not in fresh.page.url
    async with new_profile(browser) as profile:
        other = Seen(await profile.new_page(), stage.url)
        await other.open(link)
        await expect(other.page.get_by_text("This sign-in link has been used")).to_be_visible()
        assert "link=" not in other.page.url
        assert other.complaints == []


async def test_next_place_is_never_another_site(fresh: Seen, stage: Stage) -> None:
    await fresh.open("/sign-in?next=//evil.example/x")
    await fresh.page.get_by_label("Private key").fill(stage.tenant.private.token)
    await fresh.page.keyboard.press("Enter")
    await fresh.page.locator("header.bar").wait_for()
    assert fresh.page.url == f"{stage.url}/"


async def test_accounts_are_switched(dashboard: Seen, stage: Stage) -> None:
    await stage.make_test(name="Of the stage")
    await dashboard.open("/account")
    other = await make_tenant(stage.services.database, "Second account")
    await dashboard.page.get_by_role("button", name="Stage").click()
    await dashboard.page.get_by_role("menuitem", name="Add an account").click()
    await dashboard.page.get_by_label("Private key").fill(other.private.token)
    await dashboard.page.keyboard.press("Enter")
    account = dashboard.page.get_by_role("button", name="Second account")
    await account.wait_for()
    await dashboard.open("/tests")
    await expect(dashboard.page.get_by_text("No test yet")).to_be_visible()
    await account.focus()
    await dashboard.page.keyboard.press("Enter")
    await expect(dashboard.page.get_by_role("menuitem", name=re.compile("Switch to Stage"))).to_be_focused()
    assert await dashboard.faults() == []
    await dashboard.page.keyboard.press("Enter")
    await dashboard.page.get_by_role("button", name="Stage").wait_for()
    await dashboard.page.get_by_role("link", name="Tests", exact=True).click()
    await dashboard.page.get_by_role("link", name="Of the stage").wait_for()


async def test_other_tabs_follow_a_switch(dashboard: Seen, stage: Stage) -> None:
    await dashboard.open("/account")
    second = await dashboard.page.context.new_page()
    await second.goto(f"{stage.url}/tests")
    await second.get_by_role("heading", level=1, name="Tests").wait_for()
    await dashboard.page.get_by_role("button", name="Stage").click()
    await dashboard.page.get_by_role("menuitem", name="Sign out").click()
    await dashboard.heading("Sign in to Parley")
    await second.get_by_role("heading", level=1, name="Sign in to Parley").wait_for()


async def test_revoked_key_ends_in_the_sign_in(fresh: Seen, stage: Stage) -> None:
    key = await make_key(stage.services.database, stage.tenant.account_id)
    await fresh.sign_in(key.token)
    # A page that has read all it shows, and reads nothing anew by itself: else it is the one that finds out.
    await fresh.open("/account/gateways")
    await fresh.page.get_by_role("link", name="Shop").wait_for()
    await stage.http.delete(f"/api/v1/keys/{key.id}")
    await fresh.page.get_by_role("link", name="Tests", exact=True).click()
    await fresh.heading("Sign in to Parley")
    assert fresh.page.url == f"{stage.url}/sign-in?next=%2Ftests"
