"""What a pipeline sends and our judge says of it, as the dashboard tells it; and judged again."""

from __future__ import annotations

import re

from playwright.async_api import expect

from parley.server.llm.demo import Rule, Say
from tests.e2e.dashboard.seen import Seen
from tests.factories.datasets import make, make_dataset, post, question, result, start_run
from tests.stage import Stage

HOSTILE = "<img src=x onerror=alert(1)> Within 30 days."
QUESTIONS = [
    question(
        0,
        judgeGuideline="The link is optional.",
        checks=[{"type": "contains", "text": "30 days", "id": "term"}],
    ),
    question(1, checks=[{"type": "contains", "text": "order", "mustPass": True}]),
    question(2),
]


def rating(value: float, reasoning: str) -> Say:
    """What a judge says."""
    return Say(f'{{"reasoning": "{reasoning}", "rating": {value}}}')


async def sent(stage: Stage) -> str:
    """A completed run of a pipeline: one good answer, one that lacks what it must have, one failure."""
    settings = await make(stage.http, "/evaluation-settings", {"name": "Three votes", "votes": 3})
    dataset = await make_dataset(stage.http, QUESTIONS, name="Support questions")
    run = await start_run(stage.http, dataset, evaluationSettingsId=settings["id"], branch="main")
    called = [{"name": "find_order", "arguments": {"id": 17}, "result": "found"}]
    good = result(
        "q0", HOSTILE, toolCalls=called, timings={"durationMs": 1210}, retrievalContext=["The terms."]
    )
    poor = result("q1", "No idea.")
    broken = result("q2", None, error={"type": "timeout", "message": "The pipeline gave up."})
    await post(stage.http, run, [good, poor, broken], wait=30)
    ended = await make(stage.http, f"/runs/{run}/finalize", {})
    assert ended["status"] == "completed"
    return run


async def test_results_tell_reasons_votes_checks_and_answers(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    stage.play(
        Rule((rating(9, "Right and short."), rating(8, "Right."), rating(5, "Too short.")), part="judge")
    )
    async with stage.worker():
        run = await sent(stage)
    await dashboard.open(f"/evaluations/{run}")
    rows = page.get_by_role("table", name="Case results").locator("tbody tr")
    await expect(rows).to_have_count(3)
    await expect(rows.nth(1)).to_contain_text("✕ contains")
    await expect(rows.nth(2)).to_contain_text("The pipeline gave up.")
    await rows.nth(0).get_by_role("link").click()
    await expect(page.locator(".figure").first).to_contain_text("8")
    for words in ("Right and short.", "Too short."):
        await expect(page.locator(".votes").get_by_text(words)).to_be_visible()
    await expect(page.get_by_label("Answer", exact=True)).to_contain_text(HOSTILE)
    await expect(page.get_by_text("The link is optional.")).to_be_visible()
    await expect(page.get_by_role("table", name="Checks")).to_contain_text("told only")
    await page.get_by_text("Called find_order").click()
    await expect(page.get_by_text("found", exact=True)).to_be_visible()
    await dashboard.looks_accessible()
    await page.go_back()
    await rows.nth(1).get_by_role("link").click()
    await expect(page.get_by_role("table", name="Checks")).to_contain_text("must pass")
    await expect(page.locator(".page-head").get_by_text("not passed")).to_be_visible()


async def test_answers_are_judged_again_and_turned_verdicts_told(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    stage.play(Rule((rating(8, "Right."),), part="judge"))
    async with stage.worker():
        run = await sent(stage)
        await dashboard.open(f"/evaluations/{run}")
        await page.get_by_role("button", name="Judge again").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Pass mark").fill("11")
        await dialog.get_by_role("button", name="Judge again").click()
        await expect(dialog.get_by_label("Pass mark")).to_have_attribute("aria-invalid", "true")
        assert await dashboard.faults() == []
        await dialog.get_by_label("Pass mark").fill("9")
        await dialog.get_by_role("button", name="Judge again").click()
        await page.wait_for_url(re.compile(rf"/evaluations/(?!{run})[0-9a-f-]+$"))
        turned = page.get_by_role("table", name="Turned verdicts")
        await expect(turned.locator("tbody tr")).to_have_count(1, timeout=60_000)
    await expect(turned).to_contain_text("not passed")
    await page.get_by_role("link", name="the first grading").click()
    await page.wait_for_url(f"**/evaluations/{run}")
