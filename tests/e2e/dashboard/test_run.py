"""The run inspector: a conversation watched live, and read afterwards to the turn that decided it."""

from __future__ import annotations

import re

from playwright.async_api import expect

from parley.server.llm.demo import Rule, opinion
from parley.server.llm.demo.behaviours import Hang, Say
from tests.e2e.dashboard.seen import Seen
from tests.stage import Stage
from tests.stories_told import eventful


def page_of(path: str) -> str:
    """The dashboard's address of a run's path."""
    return path.replace("/api/v1/agentic-tests", "/tests")


async def test_finished_run_tells_the_turn_that_decided_it(dashboard: Seen, stage: Stage) -> None:
    stage.play(Rule((opinion(0.5),), part="judge", turn=1), Rule((opinion(0.95),), part="judge", turn=2))
    test_id = await stage.make_test(max_turns=5)
    async with stage.worker():
        path = await stage.start(test_id)
        await stage.finished(path)
    page = dashboard.page
    await dashboard.open(page_of(path))
    await dashboard.heading(re.compile("^Run of Boots"))
    await expect(page.get_by_text("Turn 2 decided it: a score of 0.95 reached the 0.9")).to_be_visible()
    await page.get_by_role("link", name="Go to turn 2").click()
    await expect(page.locator("#turn-2")).to_be_in_viewport()
    assert page.url.endswith("#turn-2")
    await expect(page.get_by_role("link", name=re.compile(r"^Turn 1: score 0\.50"))).to_be_visible()
    await expect(page.get_by_text("The test is still as it was then.")).to_be_visible()
    await dashboard.looks_accessible()


async def test_running_conversation_is_watched_word_by_word_to_its_end(dashboard: Seen, stage: Stage) -> None:
    stage.play(*eventful())
    test_id = await stage.make_test(max_turns=4)
    path = await stage.start(test_id)
    page = dashboard.page
    await dashboard.open(page_of(path))
    await expect(page.get_by_text("It waits for a slot and a worker.")).to_be_visible()
    async with stage.worker():
        await expect(page.locator(".message.user").first).to_be_visible()
        run = await stage.finished(path)
        await expect(page.locator(".decision")).to_be_visible()
    said = [item["content"].strip() for item in run["conversation"] if item["role"] != "judge"]
    shown = await page.locator(".message.user > .words, .message.assistant > .words").all_inner_texts()
    assert [text.strip() for text in shown] == [text for text in said if text]
    await expect(page.locator(".message.assistant summary").filter(has_text="lookup_order")).to_be_visible()


async def test_open_run_is_cancelled(dashboard: Seen, stage: Stage) -> None:
    stage.play(Rule((Hang(1),), part="assistant"))
    path = await stage.start(await stage.make_test())
    page = dashboard.page
    async with stage.worker():
        await dashboard.open(page_of(path))
        await expect(page.locator(".message.assistant.is-open")).to_be_visible()
        await page.get_by_role("button", name="Cancel the run").click()
        await page.get_by_role("dialog").get_by_role("button", name="Cancel the run").click()
        await expect(page.get_by_text("Somebody cancelled it; nothing was decided.")).to_be_visible()
        await expect(page.locator(".message.assistant.is-open")).to_have_count(0)


async def test_what_has_changed_since_is_named(dashboard: Seen, stage: Stage) -> None:
    test_id = await stage.make_test(max_turns=2)
    stage.play(Rule((Say("**Bold** and `code`\n\n- one\n- two"),), part="assistant"))
    async with stage.worker():
        path = await stage.start(test_id)
        await stage.finished(path)
    await stage.http.patch(f"/api/v1/agentic-tests/{test_id}", json={"goal": "Another goal", "max_turns": 7})
    page = dashboard.page
    await dashboard.open(page_of(path))
    await expect(page.get_by_text("Changed since: goal, max_turns.")).to_be_visible()
    await page.get_by_label("show Markdown").check()
    await expect(page.locator("#turn-1 .message.assistant li")).to_have_text(["one", "two"])
    await expect(page.locator("#turn-1 .message.assistant strong")).to_have_text("Bold")


async def test_run_of_another_account_is_a_plain_404(dashboard: Seen) -> None:
    nobody = "01890a5d-ac96-774b-bcce-b302099a8057"
    await dashboard.open(f"/tests/{nobody}/runs/{nobody}")
    await dashboard.heading("There is nothing here")
