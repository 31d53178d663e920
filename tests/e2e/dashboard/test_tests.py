"""Tests in the dashboard: found, written, changed, copied, carried out as files and back in, deleted."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import expect

from tests.e2e.dashboard.seen import Seen
from tests.factories.accounts import make_key, make_tenant
from tests.stage import GOAL, Stage

TESTS = "/api/v1/agentic-tests"
MARKUP = "<img src=x onerror=\"document.title='broken'\"><b>bold</b>"


async def test_list_is_searched_and_filtered_and_keeps_that_in_its_address(
    dashboard: Seen, stage: Stage
) -> None:
    page = dashboard.page
    await stage.make_test(name="Refund of a parcel", cron="30 6 * * mon-fri")
    await stage.make_test(name="Opening hours", cron="0 6 * * *", enabled=False)
    await dashboard.open("/tests")
    await page.get_by_role("link", name="Opening hours").wait_for()
    await expect(page.get_by_text("on Monday to Friday at 06:30 UTC")).to_be_visible()
    await expect(page.get_by_text("paused")).to_be_visible()
    await dashboard.looks_accessible()
    await page.get_by_label("Search names").fill("REFUND")
    await expect(page.get_by_role("link", name="Opening hours")).to_be_hidden()
    await page.get_by_label("Gateway").select_option(stage.gateway["slug"])
    await expect(page.get_by_role("link", name="Refund of a parcel")).to_be_visible()
    await page.reload()
    await expect(page.get_by_label("Search names")).to_have_value("REFUND")
    await expect(page.get_by_label("Gateway")).to_have_value(stage.gateway["slug"])
    await expect(page.get_by_role("link", name="Opening hours")).to_be_hidden()
    await page.get_by_label("Search names").fill("nothing has this name")
    await expect(page.get_by_role("heading", name="No test fits")).to_be_visible()


async def test_test_is_written_with_the_apis_words_beside_every_field(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    await dashboard.open("/tests/new")
    await dashboard.heading("New test")
    schema = (await stage.read(f"{TESTS}/schema"))["properties"]
    for summary in await page.locator("details > summary").all():
        await summary.click()
    text = await page.locator("main").inner_text()
    parts = {"user_sampling"}
    assert [name for name in schema if name not in parts and schema[name]["description"] not in text] == []
    await dashboard.looks_accessible()

    await page.get_by_role("button", name="Make the test").click()
    await expect(page.get_by_label("Name", exact=True)).to_be_focused()
    await page.get_by_label("Name", exact=True).fill(MARKUP)
    await page.get_by_label("Gateway", exact=True).fill("nothing:0000")
    await page.get_by_label("Goal").fill("Send the boots back.")
    refused = await stage.http.post(TESTS, json={"name": "x", "gateway": "nothing:0000", "goal": "x"})
    [fault] = refused.json()["details"]
    await expect(page.get_by_text(fault["problem"])).to_be_visible()
    await page.get_by_label("Gateway", exact=True).fill(stage.gateway["slug"])
    await page.get_by_label("Schedule", exact=True).fill("*/7 * * * *")
    await expect(page.get_by_text("at least 5 minutes have to lie between two starts")).to_be_visible()
    await page.get_by_role("button", name="on workdays at 6").click()
    await expect(page.get_by_text("Runs on Monday to Friday at 06:00 UTC.")).to_be_visible()
    await expect(page.locator(".told time")).to_have_count(3)
    await page.get_by_label("Loss at or under").fill("0.85")
    await expect(
        page.get_by_text("base_threshold").or_(page.get_by_text("loss_threshold"))
    ).not_to_have_count(0)
    await page.get_by_label("Loss at or under").fill("0.25")
    await page.get_by_role("button", name="Add a pair").click()
    await page.get_by_label("Metadata 1, name").fill("team")
    await page.get_by_label("Metadata 1, value").fill("support")
    await expect(page.get_by_text("The API would take this.")).to_be_visible()
    await page.get_by_role("button", name="Make the test").click()

    await dashboard.heading(MARKUP)
    made = await stage.read(f"{TESTS}/{page.url.rpartition('/')[2]}")
    assert (made["name"], made["goal"], made["cron"]) == (MARKUP, "Send the boots back.", "0 6 * * mon-fri")
    assert (made["loss_threshold"], made["metadata"], made["max_turns"]) == (0.25, {"team": "support"}, 10)
    assert await page.locator("main img, main b").count() == 0
    assert await page.title() == f"{MARKUP} - Parley"


async def test_change_sends_only_what_was_changed(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    test_id = await stage.make_test(
        name="Before",
        goal=[{"type": "text", "text": GOAL}],
        max_turns=4,
        cron="0 6 * * *",
        metadata={"a": "b"},
    )
    await dashboard.open(f"/tests/{test_id}/edit")
    await dashboard.heading("Edit Before")
    await dashboard.looks_accessible()
    await expect(page.get_by_role("button", name="Save")).to_be_disabled()
    await stage.http.patch(f"{TESTS}/{test_id}", json={"profile": "high"})
    await page.get_by_label("Name", exact=True).fill("After")
    await page.get_by_label("Most turns").fill("")
    await page.get_by_label("Schedule", exact=True).fill("")
    await page.get_by_role("button", name="Save").click()
    await dashboard.heading("After")
    after = await stage.read(f"{TESTS}/{test_id}")
    assert (after["name"], after["max_turns"], after["cron"]) == ("After", 10, None)
    assert (after["profile"], after["goal"], after["metadata"]) == (
        "high",
        [{"type": "text", "text": GOAL}],
        {"a": "b"},
    )


async def test_what_is_not_saved_is_not_lost_by_a_click(dashboard: Seen) -> None:
    page = dashboard.page
    asked: list[str] = []

    async def stay(dialog: object) -> None:
        asked.append(dialog.message)  # type: ignore[attr-defined]
        await dialog.dismiss()  # type: ignore[attr-defined]

    page.on("dialog", stay)
    await dashboard.open("/tests/new")
    await page.get_by_label("Goal").fill("Long and well thought out.")
    await page.get_by_role("link", name="Evaluations").click()
    await expect(page.get_by_label("Goal")).to_have_value("Long and well thought out.")
    assert asked == ["Leave without saving what you wrote?"]


async def test_copy_begins_with_everything_but_the_name(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    test_id = await stage.make_test(name="Original", max_turns=7, validation_criteria="Be kind.")
    await dashboard.open(f"/tests/{test_id}")
    await page.get_by_role("button", name="More").click()
    await page.get_by_role("menuitem", name="Duplicate").click()
    await dashboard.heading("Copy a test")
    await expect(page.get_by_label("Name", exact=True)).to_have_value("Original (copy)")
    await page.get_by_role("button", name="Make the test").click()
    await dashboard.heading("Original (copy)")
    copy = await stage.read(f"{TESTS}/{page.url.rpartition('/')[2]}")
    assert copy["id"] != test_id
    assert (copy["max_turns"], copy["validation_criteria"]) == (7, "Be kind.")


async def test_files_go_out_and_come_back_in(dashboard: Seen, stage: Stage, tmp_path: Path) -> None:
    page = dashboard.page
    await stage.make_test(name="Carried out", max_turns=3)
    await dashboard.open("/tests")
    async with page.expect_download() as download:
        await page.get_by_role("link", name="Export as YAML").click()
    path = tmp_path / "tests.yaml"
    await (await download.value).save_as(path)
    text = path.read_text() + "  - {name: Wrong, gateway: nowhere, goal: x, max_turn: 3}\n".removeprefix("  ")
    await page.get_by_role("button", name="Import").click()
    await page.get_by_label("Or its text").fill("tests: [")
    await page.get_by_role("button", name="Look at it").click()
    await expect(page.get_by_text("(line 1, column 9)")).to_be_visible()
    await page.get_by_label("A file").set_input_files(
        {"name": "tests.yaml", "mimeType": "application/yaml", "buffer": text.encode()}
    )
    await page.get_by_role("button", name="Look at it").click()
    await expect(page.get_by_text("did you mean 'max_turns'?")).to_be_visible()
    assert await dashboard.faults() == []
    await page.get_by_role("button", name="make 1 test").click()
    await expect(page.get_by_role("link", name="Carried out")).to_have_count(2)
    listed = (await stage.http.get(TESTS)).json()["data"]
    assert [test["name"] for test in listed] == ["Carried out", "Carried out"]


async def test_deleting_asks_first(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    test_id = await stage.make_test(name="Doomed")
    await dashboard.open(f"/tests/{test_id}")
    for answer in ("Not now", "Delete the test"):
        await page.get_by_role("button", name="More").click()
        await page.get_by_role("menuitem", name="Delete").click()
        await page.get_by_role("dialog").get_by_role("button", name=answer).click()
        await expect(page.get_by_role("dialog")).to_be_hidden()
        gone = answer != "Not now"
        if gone:
            await dashboard.heading("Tests")
        status = (await stage.http.get(f"{TESTS}/{test_id}")).status_code
        assert status == (404 if gone else 200)


async def test_link_into_another_account_is_a_plain_404(dashboard: Seen, stage: Stage) -> None:
    other = await make_tenant(stage.services.database, "Other")
    made = await stage.http.post(
        "/api/v1/ai-gateways",
        json={"name": "Theirs", "base_url": stage.llms.base_url, "model": "assistant"},
        headers=other.auth,
    )
    body = {"name": "Secret name", "gateway": made.json()["data"]["slug"], "goal": "x"}
    foreign = (await stage.http.post(TESTS, json=body, headers=other.auth)).json()["data"]["id"]
    for path in (
        f"/tests/{foreign}",
        f"/tests/{foreign}/edit",
        f"/tests/new?from={foreign}",
        "/tests/nonsense",
    ):
        await dashboard.open(path)
        await dashboard.heading("There is nothing here")
        assert "Secret name" not in await dashboard.page.content()
    await dashboard.looks_accessible()


async def test_key_without_scopes_is_told_what_it_may_not(fresh: Seen, stage: Stage) -> None:
    reader = await make_key(stage.services.database, stage.tenant.account_id, scopes=["tests:read"])
    await stage.make_test(name="Only to be read")
    await fresh.sign_in(reader.token)
    await fresh.open("/tests")
    run = fresh.page.get_by_role("button", name="Run Only to be read now")
    await expect(run).to_be_disabled()
    await expect(run).to_have_attribute(
        "title", "The key of this session may not start runs (scope runs:write)."
    )
    await fresh.open("/tests/new")
    await expect(fresh.page.get_by_text("may read tests, but not write them")).to_be_visible()
