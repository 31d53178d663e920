"""The account's particulars, its hook key, and its gateways with their check."""

from __future__ import annotations

import re

from playwright.async_api import expect

from parley.server.llm.demo import Rule
from parley.server.llm.demo.behaviours import Status
from tests.e2e.dashboard.seen import Seen
from tests.factories.accounts import make_key
from tests.stage import Stage


async def test_particulars_are_changed_and_faults_stand_at_their_field(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    await dashboard.open("/account")
    await dashboard.heading("Account")
    await expect(page.get_by_text("$100.00")).to_be_visible()
    await page.get_by_label("Owner's e-mail").fill("nobody")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_label("Owner's e-mail")).to_be_focused()
    await expect(page.locator(".problem")).to_have_count(1)
    await dashboard.looks_accessible()
    await page.get_by_label("Owner's e-mail").fill("ada@example.com")
    await page.get_by_label("Name").fill("Boot shop")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("button", name="Boot shop")).to_be_visible()
    stored = await stage.read("/api/v1/account")
    assert (stored["name"], stored["owner_email"]) == ("Boot shop", "ada@example.com")


async def test_hook_key_is_made_shown_once_and_rolled_only_after_a_question(dashboard: Seen) -> None:
    page = dashboard.page
    await dashboard.open("/account")
    await page.get_by_role("button", name="Make a key").click()
    dialog = page.get_by_role("dialog")
    first = await dialog.locator("code").inner_text()
    assert first.startswith("whsec_")
    await dashboard.looks_accessible()
    await dialog.get_by_role("button", name="I have kept it").click()
    await expect(page.get_by_text(first)).to_have_count(0)
    await page.get_by_role("button", name="Roll the key").click()
    await dialog.get_by_role("button", name="Roll the key").click()
    await expect(dialog.locator("code")).to_be_visible()
    assert await dialog.locator("code").inner_text() != first


async def test_gateway_is_made_checked_and_changed(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    await dashboard.open("/account/gateways")
    await page.get_by_role("link", name="New gateway").click()
    await dashboard.heading("New gateway")
    await page.get_by_label("Name", exact=True).fill("Second shop")
    await page.get_by_label("Address").fill("ftp://nowhere")
    await page.get_by_label("LLM").fill("assistant")
    await page.get_by_label("API key").fill("secret-of-the-shop")
    await page.get_by_role("button", name="Make the gateway").click()
    await expect(page.get_by_label("Address")).to_be_focused()
    await page.get_by_label("Address").fill(stage.llms.base_url)
    await page.get_by_text("Tools and request").click()
    await page.get_by_role("button", name="Add a header").click()
    await page.get_by_label("Headers 1, name").fill("X-Team")
    await page.get_by_label("Headers 1, value").fill("support")
    await page.get_by_text("Instruction and sampling").click()
    await page.get_by_label("Stop").fill('["END"')
    await expect(page.locator(".problem", has_text="is not JSON yet")).to_be_visible()
    await page.get_by_role("button", name="Make the gateway").click()
    await expect(page.get_by_label("Stop")).to_be_focused()
    await page.get_by_label("Stop").fill('["END"]')
    await dashboard.looks_accessible()
    await page.get_by_role("button", name="Make the gateway").click()
    await dashboard.heading("Second shop")
    await page.get_by_role("button", name="Check Second shop").click()
    await expect(page.get_by_role("dialog").get_by_text("it answers")).to_be_visible()
    await dashboard.looks_accessible()
    await page.get_by_role("dialog").get_by_role("button", name="Close").last.click()
    await page.get_by_label("Forget the stored headers").check()
    await page.get_by_label("Stop").fill("")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Nothing changed yet.")).to_be_visible()
    stored = await stage.read(f"/api/v1/ai-gateways/{page.url.rsplit('/', 1)[1]}")
    assert (stored["name"], stored["has_api_key"]) == ("Second shop", True)
    assert (stored["header_names"], stored["stop"]) == ([], [])


async def test_gateway_that_refuses_is_told_in_plain_words(dashboard: Seen, stage: Stage) -> None:
    stage.play(Rule((Status(401),), part="assistant"))
    page = dashboard.page
    await dashboard.open("/account/gateways")
    await page.get_by_role("button", name="Check Shop").click()
    await expect(page.get_by_role("dialog").get_by_text("it does not work")).to_be_visible()
    await expect(page.get_by_role("dialog").locator(".note.bad")).to_be_visible()


async def test_gateway_in_use_names_its_tests_and_goes_once_they_are_gone(
    dashboard: Seen, stage: Stage
) -> None:
    page = dashboard.page
    test_id = await stage.make_test(name="Boots")
    await dashboard.open(f"/account/gateways/{stage.gateway['id']}")
    await page.get_by_role("button", name="Delete").click()
    confirm = page.get_by_role("dialog").get_by_role("button", name="Delete the gateway")
    await confirm.click()
    await expect(page.get_by_role("dialog").get_by_role("link", name="Boots")).to_be_visible()
    await dashboard.looks_accessible()
    await stage.http.delete(f"/api/v1/agentic-tests/{test_id}")
    await confirm.click()
    await dashboard.heading("Gateways")
    await page.get_by_role("heading", name="No gateway yet").wait_for()
    await dashboard.looks_accessible()


async def test_what_the_key_may_not_do_is_said_and_switched_off(fresh: Seen, stage: Stage) -> None:
    reader = await make_key(
        stage.services.database, stage.tenant.account_id, scopes=["account:read", "tests:read"]
    )
    await fresh.sign_in(reader.token)
    page = fresh.page
    for path, button in (("/account", "Save"), ("/account/gateways", "Check Shop")):
        await fresh.open(path)
        await expect(page.get_by_text(re.compile("it lacks the scope"))).to_be_visible()
        await expect(page.get_by_role("button", name=button)).to_be_disabled()
    await fresh.looks_accessible()


async def test_page_the_key_may_not_read_says_which_scope_it_takes(fresh: Seen, stage: Stage) -> None:
    runner = await make_key(stage.services.database, stage.tenant.account_id, scopes=["runs:write"])
    await fresh.sign_in(runner.token)
    for path in ("/account/gateways", "/account/keys", "/account/usage"):
        await fresh.open(path)
        await expect(fresh.page.get_by_role("alert")).to_contain_text(re.compile("(tests|account):read"))


async def test_unknown_gateway_and_channel_are_a_plain_404(dashboard: Seen) -> None:
    nobody = "01890a5d-ac96-774b-bcce-b302099a8057"
    for path in (f"/account/gateways/{nobody}", f"/account/channels/{nobody}", "/account/nowhere"):
        await dashboard.open(path)
        await dashboard.heading("There is nothing here")


async def test_tabs_lead_from_page_to_page_by_keyboard(dashboard: Seen) -> None:
    page = dashboard.page
    await dashboard.open("/account")
    await dashboard.heading("Account")
    tabs = page.get_by_role("navigation", name="Account")
    for name in ("Gateways", "Keys", "Channels", "Usage", "Limits"):
        await tabs.get_by_role("link", name=name).focus()
        await page.keyboard.press("Enter")
        await dashboard.heading(name)
        await expect(page.get_by_role("heading", level=1)).to_be_focused()
        await expect(tabs.get_by_role("link", name=name)).to_have_attribute("aria-current", "page")
    await page.go_back()
    await dashboard.heading("Usage")
