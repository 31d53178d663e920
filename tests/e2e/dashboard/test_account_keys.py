"""Keys: made with fewer scopes, shown once, revoked; one's own as well."""

from __future__ import annotations

from playwright.async_api import expect

from tests.e2e.dashboard.seen import Seen
from tests.factories.accounts import bearer
from tests.stage import Stage


async def test_key_is_made_with_fewer_scopes_shown_once_and_revoked(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    await dashboard.open("/account/keys")
    await page.get_by_role("button", name="New key").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Make the key").click()
    await expect(dialog.locator(".problem")).to_be_visible()
    await dialog.get_by_label("Name").fill("pipeline")
    await dialog.get_by_label("Lasts").select_option("30 days")
    for scope in ("account:read", "account:write", "tests:write"):
        await dialog.get_by_label(scope).uncheck()
    await dashboard.looks_accessible()
    await dialog.get_by_role("button", name="Make the key").click()
    await page.get_by_role("heading", name="The new key").wait_for()
    token = await dialog.locator("code").inner_text()
    await dialog.get_by_role("button", name="I have kept it").click()
    who = (await stage.http.get("/api/v1/whoami", headers=bearer(token))).json()["data"]
    assert who["scopes"] == ["tests:read", "runs:write", "evaluations:write", "judge"]
    assert who["expires_at"] is not None
    row = page.get_by_role("row", name="pipeline")
    await expect(row).to_contain_text("tests:read, runs:write, evaluations:write, judge")
    await dashboard.looks_accessible()
    await row.get_by_role("button", name="Revoke").click()
    await dialog.get_by_role("button", name="Revoke the key").click()
    await expect(row).to_contain_text("revoked")
    assert (await stage.http.get("/api/v1/whoami", headers=bearer(token))).status_code == 401


async def test_revoking_ones_own_key_is_warned_of_and_ends_the_session(dashboard: Seen) -> None:
    page = dashboard.page
    await dashboard.open("/account/keys")
    row = page.get_by_role("row", name="this session")
    await row.get_by_role("button", name="Revoke").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_text("This session is signed in with it")).to_be_visible()
    await dialog.get_by_role("button", name="Revoke the key").click()
    await page.wait_for_url("**/sign-in**")
