"""Comparing: two runs turn by turn, two revisions, before and after a moment; and when it is refused."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

from playwright.async_api import expect

from tests.e2e.dashboard.seen import Seen
from tests.factories.accounts import make_tenant
from tests.factories.told_runs import multiply, tell, turn_of
from tests.stage import Stage, client_of, make_gateway


def id_of(path: str) -> str:
    """The run of a path."""
    return path.rsplit("/", 1)[1]


async def told(stage: Stage, test_id: str, *scores: float, answer: str = "Yes.") -> str:
    """A run of this test with a turn for each score; its id."""
    path = await stage.start(test_id)
    entries = [
        entry
        for turn, score in enumerate(scores, 1)
        for entry in turn_of(turn, f"Question {turn}", answer, score)
    ]
    await tell(stage.services.database, UUID(id_of(path)), entries)
    return id_of(path)


async def test_two_runs_stand_side_by_side_by_turn(dashboard: Seen, stage: Stage) -> None:
    test_id = await stage.make_test(max_turns=5)
    left = await told(stage, test_id, 0.5, 0.5, 0.6, answer="Ask the shop.")
    right = await told(stage, test_id, 0.5, 0.8, answer="Send them back.")
    page = dashboard.page
    await dashboard.open(f"/tests/{test_id}/compare?right={right}")
    await dashboard.heading("Compare runs of Boots")
    await expect(
        page.get_by_text("Their scores part at turn 2: 0.50 on the left, 0.80 on the right.")
    ).to_be_visible()
    third = page.locator("#turn-3")
    await expect(third.get_by_role("group", name="Left")).to_contain_text("Ask the shop.")
    await expect(third.get_by_role("group", name="Right")).to_have_text(re.compile("Nothing at this turn"))
    row = page.get_by_role("row").filter(has_text="Score")
    await expect(row).to_contain_text("+0.200")
    await dashboard.looks_accessible()
    await page.get_by_role("button", name="Swap").click()
    await expect(row).to_contain_text("\N{MINUS SIGN}0.200")
    assert (f"left={right}" in page.url, f"right={left}" in page.url) == (True, True)
    await page.get_by_role("link", name="Go to turn 2").click()
    await expect(page.locator("#turn-2")).to_be_in_viewport()
    assert await page.evaluate(DUPLICATE_IDS) == 0


async def test_first_run_has_nothing_before_it(dashboard: Seen, stage: Stage) -> None:
    test_id = await stage.make_test()
    run = await told(stage, test_id, 0.5)
    await dashboard.open(f"/tests/{test_id}/compare?right={run}")
    await expect(dashboard.page.get_by_role("heading", name="No run before this one")).to_be_visible()
    await dashboard.looks_accessible()


async def test_two_revisions_are_compared_with_intervals(dashboard: Seen, stage: Stage) -> None:
    test_id = await stage.make_test()
    before = await told(stage, test_id, 0.3)
    for _ in range(3):
        await told(stage, test_id, 0.4)
    await stage.http.patch(
        f"/api/v1/ai-gateways/{stage.gateway['id']}", json={"system_instruction": "Be kind."}
    )
    after = await told(stage, test_id, 0.8)
    await multiply(stage.services.database, UUID(after), 12)
    page = dashboard.page
    await dashboard.open(f"/tests/{test_id}/compare")
    await expect(
        page.get_by_text("Successes rose from 0% to 69%. That is more than chance explains")
    ).to_be_visible()
    await expect(page.get_by_text("What was tried differs: gateway.")).to_be_visible()
    successes = page.get_by_role("row").filter(has_text="Successes")
    await expect(successes).to_contain_text("+69 points")
    await expect(
        page.get_by_role("img", name=re.compile("Left: 1 from 0.3 to 0.4, 3 from 0.4 to 0.5"))
    ).to_be_visible()
    await page.get_by_text("Left: 4 runs").click()
    await expect(page.locator(f'a[href$="{before}"]')).to_be_visible()
    await dashboard.looks_accessible()


async def test_another_yardstick_is_named_and_nothing_is_subtracted(dashboard: Seen, stage: Stage) -> None:
    test_id = await stage.make_test()
    left = await told(stage, test_id, 0.3)
    await stage.http.patch(f"/api/v1/agentic-tests/{test_id}", json={"validation_criteria": "It is kind."})
    right = await told(stage, test_id, 0.9)
    page = dashboard.page
    for query in ("", f"?left={left}&right={right}"):
        await dashboard.open(f"/tests/{test_id}/compare{query}")
        await expect(page.get_by_text("These cannot be compared.")).to_be_visible()
        await expect(page.get_by_text("validation_criteria differs")).to_be_visible()
    await dashboard.open(f"/tests/{test_id}/compare")
    await expect(page.get_by_role("row").filter(has_text="Successes").get_by_role("cell").last).to_have_text(
        "\N{EN DASH}"
    )
    await dashboard.looks_accessible()


async def test_before_and_after_a_moment(dashboard: Seen, stage: Stage) -> None:
    test_id = await stage.make_test()
    await multiply(stage.services.database, UUID(await told(stage, test_id, 0.9)), 60)
    page = dashboard.page
    await dashboard.open(f"/tests/{test_id}/compare")
    await page.get_by_role("link", name="Before and after a moment").click()
    await expect(page.get_by_role("heading", name="Choose a moment")).to_be_visible()
    moment = await page.evaluate(HALF_AN_HOUR_AGO)
    await page.get_by_label("Moment of the change").fill(moment)
    await expect(page.get_by_text(re.compile("^Successes (rose|fell|stayed)"))).to_be_visible()
    assert "split=" in page.url
    await page.reload()
    await expect(page.get_by_label("Moment of the change")).to_have_value(moment)
    await dashboard.looks_accessible()


async def test_test_without_runs_says_so(dashboard: Seen, stage: Stage) -> None:
    await dashboard.open(f"/tests/{await stage.make_test()}/compare")
    await expect(dashboard.page.get_by_role("heading", name="No run yet")).to_be_visible()


async def test_runs_of_another_account_are_a_plain_404(dashboard: Seen, stage: Stage) -> None:
    other = await make_tenant(stage.services.database, "Other", plan="max")
    test_id = await stage.make_test()
    mine = await told(stage, test_id, 0.5)
    async with client_of(stage.url, other.auth) as http:
        gateway = await make_gateway(http, stage.llms)
        body = {"name": "Secret", "gateway": gateway["slug"], "goal": "Hidden"}
        theirs: dict[str, Any] = (await http.post("/api/v1/agentic-tests", json=body)).json()["data"]
        run = (await http.post(f"/api/v1/agentic-tests/{theirs['id']}/runs")).json()["data"]["id"]
    for path in (
        f"/tests/{theirs['id']}/compare",
        f"/tests/{theirs['id']}/runs/{run}",
        f"/tests/{test_id}/runs/{run}",
        f"/tests/{test_id}/compare?left={run}&right={mine}",
        f"/tests/{test_id}/compare?right={run}",
    ):
        await dashboard.open(path)
        await expect(dashboard.page.get_by_role("heading", name="There is nothing here")).to_be_visible()
        assert "Secret" not in await dashboard.page.content()


DUPLICATE_IDS = """() => {
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  return ids.length - new Set(ids).size;
}"""
HALF_AN_HOUR_AGO = """() => {
  const at = new Date(Date.now() - 30 * 60000);
  return new Date(at - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}"""
PURE = """async ({ name, calls }) => {
  const base = document.querySelector('link[rel=stylesheet]').href.split('/styles.css')[0];
  const module = await import(`${base}/compare/${name}.js`);
  return calls.map(([does, ...given]) => module[does](...given));
}"""


async def test_parting_alignment_and_words_of_chance(dashboard: Seen) -> None:
    await dashboard.open("/account")

    def opinions(*scores: float) -> list[dict[str, float]]:
        return [{"turn": turn, "score": score} for turn, score in enumerate(scores, 1)]

    page = dashboard.page
    parted, alike, silent = await page.evaluate(
        PURE,
        {
            "name": "align",
            "calls": [
                ["parting", opinions(0.5, 0.3), opinions(0.5, 0.5, 0.1)],
                ["parting", opinions(0.5, 0.31), opinions(0.5, 0.5, 0.1)],
                ["parting", [], opinions(0.5)],
            ],
        },
    )
    assert [parted["turn"], alike["turn"], silent["turn"]] == [2, None, None]
    [rows, middle, none] = await page.evaluate(
        PURE,
        {
            "name": "align",
            "calls": [
                ["aligned", [{"turn": 1}, {"turn": 3}], [{"turn": 0}, {"turn": 1}, {"turn": 1}]],
                ["median", [9, 1, 100, 2]],
                ["median", []],
            ],
        },
    )
    assert [(one["turn"], len(one["left"]), len(one["right"])) for one in rows] == [
        (0, 0, 1),
        (1, 1, 2),
        (3, 1, 0),
    ]
    assert (middle, none) == (2, None)

    def found(value: float, low: float, high: float) -> dict[str, Any]:
        sides = {"left": {"success": {"value": 0.5}}, "right": {"success": {"value": 0.5 + value}}}
        return {"comparable": True, "gap": {"success": {"value": value, "low": low, "high": high}}, **sides}

    clear, chance, still = await page.evaluate(
        PURE,
        {
            "name": "telling",
            "calls": [
                ["telling", found(-0.3, -0.5, -0.1)],
                ["telling", found(0.3, -0.1, 0.6)],
                ["telling", found(0, -0.1, 0.1)],
            ],
        },
    )
    assert clear.startswith("Successes fell from 50% to 20%. That is more than chance explains")
    assert clear.endswith("lies between \N{MINUS SIGN}50 and \N{MINUS SIGN}10 points.")
    assert "may be chance" in chance
    assert still.startswith("Successes stayed at 50%")
