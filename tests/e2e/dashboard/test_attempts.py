"""Attempts at scripted cases as a person reads them: reasons first, then step by step."""

from __future__ import annotations

import re
from typing import Any

from playwright.async_api import expect

from parley.sdk.evals import Evals, Pause, Turn, record, upload_run
from tests.e2e.dashboard.seen import Seen
from tests.stage import Stage

HOSTILE = "<img src=x onerror=alert(1)> Your money comes by Friday."
ANSWER = {
    "type": "answer",
    "outputs": [{"schemaId": "refund.receipt"}],
    "tools": [{"name": "refund", "arguments": {"order": 17}}],
    "criteria": [{"id": "day", "text": "Says when the money comes."}],
}
SUITE: dict[str, Any] = {
    "id": "refunds",
    "name": "Refunds",
    "onSemanticFailure": "continue",
    "cases": [
        {
            "id": "over-limit",
            "name": "Over the limit",
            "repetitions": 2,
            "steps": [
                {"message": "Refund order 17, please.", "expect": {"type": "interrupt"}},
                {"resume": {"type": "select", "ids": ["yes"]}, "expect": ANSWER},
                {"message": "Thanks.", "expect": {"type": "answer", "text": {"contains": ["welcome"]}}},
            ],
        },
        {"id": "plain", "name": "Plain", "steps": [{"message": "Hello.", "expect": {"type": "answer"}}]},
    ],
}


async def agent(turn: Turn) -> Any:
    """Asks before it refunds, and is not polite."""
    if turn.kind == "resume":
        with record.tool("refund", order=17) as call:
            call.result({"amount": 12.5})
        record.output({"order": 17}, schema_id="refund.receipt")
        return HOSTILE
    if turn.text.startswith("Refund"):
        return Pause(question="May I?", kind="choice", options={"yes": "Yes", "no": "No"})
    return "Fine."


class Strict:
    """A judge that is not content, and quotes what nobody said."""

    async def grade(self, _request: Any, _problem: str | None) -> dict[str, Any]:
        """Fails."""
        said = ["comes by Friday", "comes tomorrow"]
        return {"passed": False, "reason": "No date is named.", "evidence": said}


async def test_attempt_tells_why_before_it_tells_what(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    run = await Evals(agent=agent, suites=[SUITE], judge=Strict()).run()
    kept = await upload_run(run, stage.url, stage.tenant.private.token)
    await dashboard.open(f"/evaluations/{kept.evaluation_id}")
    rows = page.get_by_role("table", name="Attempts").locator("tbody tr")
    await expect(rows).to_have_count(3)
    await expect(rows.nth(0)).to_contain_text("failed")
    await expect(rows.nth(0)).to_contain_text("unknown")
    await expect(rows.nth(2)).to_contain_text("passed")
    await dashboard.looks_accessible()
    await page.get_by_role("combobox", name="Attempts").select_option("Failed")
    await expect(rows).to_have_count(2)
    await rows.nth(0).get_by_role("link").click()
    await dashboard.heading("Over the limit")

    reasons = page.locator(".reasons > li")
    await expect(reasons).to_have_count(2)
    await expect(reasons.nth(0)).to_contain_text("“Says when the money comes.” was not met")
    await expect(reasons.nth(0).locator(".invented")).to_have_text(re.compile("comes tomorrow.*never said"))
    await expect(reasons.nth(0).locator("li:not(.invented)")).to_have_text("comes by Friday")
    await expect(reasons.nth(1)).to_contain_text("Check text.contains[0]")
    await expect(page.get_by_label("Repetitions").get_by_role("link")).to_have_count(2)
    second = page.get_by_label("Step 2", exact=True)
    await expect(second.get_by_label("Answer to the pause")).to_contain_text("yes")
    await expect(second.get_by_label("Agent", exact=True)).to_contain_text(HOSTILE)
    await second.get_by_text("Output refund.receipt").click()
    await second.get_by_text("Events (").click()
    await expect(second.locator(".events")).to_contain_text("tool-call-result")
    await expect(page.get_by_label("Step 1", exact=True)).to_contain_text("Pause: choice")
    await expect(page.get_by_role("heading", name="Time by phase")).to_be_visible()
    await expect(page.locator(".facts")).to_contain_text(["execute", "unknown"])
    await page.evaluate("scrollTo(0, 0)")
    await dashboard.looks_accessible()
    await reasons.nth(1).get_by_role("link", name="Step 3").click()
    await page.wait_for_url("**#step-3")
    await page.get_by_role("link", name="The evaluation").click()
    await page.get_by_role("table", name="Case results").get_by_role("link", name="Plain").click()
    await page.get_by_role("link", name="The attempt, step by step").click()
    await expect(page.get_by_text("Everything that was asked for was met.")).to_be_visible()


async def test_scripted_suite_is_written_and_a_part_of_it_run(dashboard: Seen, stage: Stage) -> None:
    page = dashboard.page
    await dashboard.open("/evaluations/suites/new")
    await page.get_by_label("Name", exact=True).fill("Scripted")
    await page.get_by_role("button", name="Add scripted cases").click()
    await page.get_by_role("button", name="Make the suite").click()
    target = page.get_by_label("Played against")
    await expect(target).to_have_attribute("aria-invalid", "true")
    slug = stage.gateway["slug"]
    await target.fill(f'{{"type": "gateway", "gateway": "{slug}", "toolVisibility": "none"}}')
    more = "\n  - {id: second, steps: [{message: Hi., expect: {type: answer}}]}\n"
    written = page.get_by_role("textbox", name="Cases")
    await written.fill((await written.input_value()).rstrip() + more)
    await page.evaluate("scrollTo(0, 0)")
    await dashboard.looks_accessible()
    await page.get_by_role("button", name="Make the suite").click()
    await dashboard.heading("Scripted")
    await expect(page.get_by_text(f"the gateway {slug}")).to_be_visible()

    await page.get_by_role("button", name="Run Scripted now").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("greeting").uncheck()
    await expect(dialog.get_by_text("Cases: 1 of 2")).to_be_visible()
    await dialog.get_by_label("Repetitions").fill("2")
    assert await dashboard.faults() == []
    await dialog.get_by_role("button", name="Start").click()
    await page.wait_for_url(re.compile(r"/evaluations/[0-9a-f-]{36}$"))
    made = await stage.read(f"/api/v1/evaluations/{page.url.rsplit('/', 1)[1]}")
    assert (made["case_count"], made["grading"]["cases"]) == (1, ["second"])

    await page.get_by_role("navigation", name="Evaluations").get_by_role("link", name="Suites").click()
    await page.get_by_role("link", name="Scripted", exact=True).click()
    await page.get_by_role("link", name="Edit").click()
    await expect(page.get_by_role("textbox", name="Cases")).to_have_value(re.compile('"id": "second"'))
