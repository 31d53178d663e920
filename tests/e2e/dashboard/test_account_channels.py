"""Channels: made, tried, their log of deliveries."""

from __future__ import annotations

import re

import httpx
from playwright.async_api import expect

from tests.e2e.dashboard.seen import Seen
from tests.stage import Stage


def nowhere(stage: Stage) -> str:
    """An address that answers with 404."""
    return f"{stage.llms.base_url}/nowhere"


async def make_channel(stage: Stage, **fields: object) -> dict[str, str]:
    """A channel to nowhere."""
    body = {"name": "On call", "url": nowhere(stage), "format": "slack"} | fields
    answer: httpx.Response = await stage.http.post("/api/v1/channels", json=body)
    made: dict[str, str] = answer.json()["data"]
    return made


async def test_channel_is_made_with_its_secret_shown_once(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    await dashboard.open("/account/channels")
    await page.get_by_role("heading", name="No channel yet").wait_for()
    await dashboard.looks_accessible()
    await page.get_by_role("button", name="New channel").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name").fill("Robot")
    await dialog.get_by_label("Address").fill("gopher://robot")
    await dialog.get_by_label("Form").select_option("signed JSON, for programs")
    await dialog.get_by_role("button", name="Make the channel").click()
    await expect(dialog.locator(".problem")).to_be_visible()
    await dialog.get_by_label("Address").fill(nowhere(stage))
    await dialog.get_by_role("button", name="Make the channel").click()
    await expect(dialog.get_by_text(re.compile("^whsec_"))).to_be_visible()
    await dialog.get_by_role("button", name="I have kept it").click()
    await dashboard.heading("Robot")
    [stored] = (await stage.http.get("/api/v1/channels")).json()["data"]
    assert (stored["name"], stored["format"]) == ("Robot", "json")


async def test_try_that_fails_is_told_and_stands_in_the_log(dashboard: Seen, stage: Stage) -> None:
    made = await make_channel(stage)
    page = dashboard.page
    await dashboard.open(f"/account/channels/{made['id']}")
    await page.get_by_role("heading", name="Nothing was sent yet").wait_for()
    await page.get_by_role("button", name="Try On call").click()
    await expect(page.locator(".toast.error")).to_contain_text("did not get to On call")
    log = page.get_by_role("table", name="Deliveries")
    await expect(log).to_contain_text("test message")
    await expect(log).to_contain_text("failed")
    await expect(log).to_contain_text("404")
    await dashboard.looks_accessible()


async def test_channel_is_changed_and_deleted(dashboard: Seen, stage: Stage) -> None:
    made = await make_channel(stage)
    page = dashboard.page
    await dashboard.open(f"/account/channels/{made['id']}")
    await page.get_by_role("button", name="Change").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name").fill("Night shift")
    await dialog.get_by_label("Gets news").uncheck()
    await dialog.get_by_role("button", name="Save").click()
    await dashboard.heading("Night shift")
    await expect(page.get_by_text("switched off")).to_be_visible()
    stored = await stage.read(f"/api/v1/channels/{made['id']}")
    assert (stored["name"], stored["enabled"], stored["shown_url"]) == (
        "Night shift",
        False,
        made["shown_url"],
    )
    await page.get_by_role("button", name="Delete").click()
    await dialog.get_by_role("button", name="Delete the channel").click()
    await dashboard.heading("Channels")
    assert (await stage.http.get("/api/v1/channels")).json()["data"] == []


async def test_email_without_an_address_says_where_to_give_one(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    await dashboard.open("/account/channels")
    await expect(page.get_by_role("link", name="give the account one")).to_be_visible()
    await stage.http.put("/api/v1/account", json={"name": "Stage", "owner_email": "ada@example.com"})
    await page.reload()
    await expect(page.get_by_text("ada@example.com")).to_be_visible()
    await page.get_by_role("button", name="Try e-mail").click()
    await expect(page.locator(".toast.error")).to_contain_text("sends no e-mail")
