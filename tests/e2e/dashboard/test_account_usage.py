"""Usage in bars, a table and a file; limits and how near they are."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from uuid import UUID

from playwright.async_api import expect

from parley.server.kit.ids import new_id
from tests.e2e.dashboard.seen import Seen
from tests.factories.accounts import make_tenant
from tests.stage import Stage


async def charge(
    stage: Stage, role: str, amount: str, days_ago: int = 0, test_id: UUID | None = None
) -> None:
    """A charge of the ledger."""
    async with stage.services.database.raw() as connection:
        await connection.execute(
            "INSERT INTO ledger (account_id, source, source_id, seq, amount, role, llm, test_id,"
            " prompt_tokens, completion_tokens, created_at)"
            " VALUES ($1, 'run', $2, 1, $3, $4, 'small-' || $4, $5, 900, 60, $6)",
            stage.tenant.account_id,
            new_id(),
            -Decimal(amount),
            role,
            test_id,
            datetime.now(UTC) - timedelta(days=days_ago),
        )


def read_file(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    return list(csv.DictReader(io.StringIO(path.read_text())))


async def test_usage_is_drawn_told_apart_and_taken_home(dashboard: Seen, stage: Stage) -> None:
    test_id = UUID(await stage.make_test(name="Boots"))
    await charge(stage, "judge", "2.5", test_id=test_id)
    await charge(stage, "user", "0.25", days_ago=2)
    await charge(stage, "user", "9", days_ago=60)
    page = dashboard.page
    await dashboard.open("/account/usage")
    table = page.get_by_role("table", name="Usage by role")
    await expect(table.get_by_role("row")).to_have_count(3)
    await expect(page.locator(".sum")).to_contain_text("$2.75")
    await expect(page.get_by_role("img", name=re.compile(r"\$2\.75 in 30 days"))).to_be_visible()
    await expect(page.locator(".chart canvas")).to_be_visible()
    await dashboard.looks_accessible()
    await page.get_by_role("link", name="by test").click()
    by_test = page.get_by_role("table", name="Usage by test")
    await expect(by_test.get_by_role("link", name="Boots")).to_be_visible()
    await expect(by_test).to_contain_text("direct evaluations")
    await page.get_by_role("link", name="90 days").click()
    await expect(page.locator(".sum")).to_contain_text("$11.75")
    assert page.url.endswith("/account/usage?days=90&by=test")
    async with page.expect_download() as saved:
        await page.get_by_role("link", name="CSV").click()
    rows = read_file(await (await saved.value).path())
    assert sorted(Decimal(row["cost"]) for row in rows) == [Decimal("0.25"), Decimal("2.5"), Decimal(9)]


async def test_account_without_usage_is_told_what_will_be_charged(dashboard: Seen) -> None:
    await dashboard.open("/account/usage")
    await dashboard.page.get_by_role("heading", name="Nothing was used in 30 days").wait_for()
    await dashboard.looks_accessible()


async def test_limits_say_what_is_full_and_when_it_gets_better(fresh: Seen, stage: Stage) -> None:
    tenant = await make_tenant(stage.services.database, "Small", plan="free")
    gateway = {"name": "Shop", "base_url": stage.llms.base_url, "model": "assistant"}
    made = (await stage.http.post("/api/v1/ai-gateways", json=gateway, headers=tenant.auth)).json()["data"]
    body = {"name": "Boots", "gateway": made["slug"], "goal": "Send them back"}
    test = (await stage.http.post("/api/v1/agentic-tests", json=body, headers=tenant.auth)).json()["data"]
    for _ in range(5):
        await stage.http.post(f"/api/v1/agentic-tests/{test['id']}/runs", headers=tenant.auth)
    await fresh.sign_in(tenant.private.token)
    await fresh.open("/account/limits")
    page = fresh.page
    starts = page.locator(".limit", has=page.get_by_role("heading", name="Starts"))
    await expect(starts).to_contain_text("5 of 5, full")
    await expect(starts).to_contain_text("One more is free")
    await expect(page.get_by_text("4 wait for a slot")).to_be_visible()
    await expect(page.get_by_text("1.25 of user, judge")).to_be_visible()
    await fresh.looks_accessible()
