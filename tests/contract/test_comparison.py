"""Comparing runs of a test over HTTP: by revision, by time, by run; when it is refused; whose it is."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import httpx
import pytest

from parley.server.kit.ids import new_id
from parley.server.wiring import Services
from tests.factories.accounts import Tenant, make_tenant
from tests.factories.ended_runs import end_run, make_running
from tests.factories.gateways import make_gateway

SCORES = {"s": "0.9", "l": "0.1"}
NOWHERE = "01890a5d-ac96-774b-bcce-b302099a8057"


class History:
    """A test and runs that have ended, oldest first."""

    def __init__(self, client: httpx.AsyncClient, services: Services, tenant: Tenant, test_id: UUID) -> None:
        self.client, self.services, self.tenant, self.test_id = client, services, tenant, test_id

    @property
    def path(self) -> str:
        return f"/api/v1/agentic-tests/{self.test_id}/comparison"

    async def add(self, letters: str, revision: str, hour: int = 0, **fields: Any) -> list[str]:
        """Runs that ended so, a minute after each other from this hour of a day on; their ids."""
        made = []
        definition = json.dumps({"fields": {"goal": "Refund"} | fields, "gateway": {"slug": "shop"}})
        for minute, letter in enumerate(letters):
            run_id = await end_run(self.services.database, self.tenant.account_id, self.test_id, letter)
            begun = f"2027-01-31T{hour:02}:{minute:02}:00Z"
            async with self.services.database.raw() as connection:
                await connection.execute(
                    "UPDATE runs SET revision = $2, definition = $3, created_at = $4::text::timestamptz, "
                    "started_at = $4::text::timestamptz, cost = 0.25, score = $5::text::numeric, "
                    "finished_at = $4::text::timestamptz + interval '2 seconds' WHERE id = $1",
                    run_id,
                    revision,
                    definition,
                    begun,
                    SCORES.get(letter),
                )
            made.append(str(run_id))
        return made

    async def compared(self, **query: Any) -> Any:
        answer = await self.client.get(self.path, params=query, headers=self.tenant.auth)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]


@pytest.fixture
async def history(client: httpx.AsyncClient, services: Services, tenant: Tenant) -> History:
    """A test without runs."""
    gateway = await make_gateway(services, tenant)
    body = {"name": "Refund", "gateway": gateway.slug, "goal": "Get a refund"}
    answer = await client.post("/api/v1/agentic-tests", json=body, headers=tenant.auth)
    return History(client, services, tenant, UUID(answer.json()["data"]["id"]))


async def test_the_last_two_revisions_are_compared_unless_others_are_named(history: History) -> None:
    await history.add("ss", "a", 1)
    await history.add("lllsfc", "b", 2)
    await history.add("sssl", "c", 3)
    found = await history.compared()
    assert found["comparable"] is True
    left, right = found["left"], found["right"]
    assert (left["run_count"], left["executed_count"]) == (5, 4)
    assert left["outcomes"] == {"loss": 3, "success": 1, "failed": 1}
    assert left["success"]["value"] == 0.25
    assert right["success"]["value"] == 0.75
    assert right["score"]["value"] == pytest.approx(0.7)
    assert right["cost"] == {"value": 0.25, "low": 0.25, "high": 0.25, "level": 0.95}
    assert right["took_ms"] == {"p50": 2000, "p95": 2000}
    assert found["gap"]["success"]["value"] == 0.5
    assert found["gap"]["success"]["low"] < 0 < found["gap"]["success"]["high"]
    assert [(one["revision"], one["run_count"]) for one in found["revisions"]] == [
        ("c", 4),
        ("b", 5),
        ("a", 2),
    ]
    other = await history.compared(left_revision="a", right_revision="b")
    assert (other["left"]["success"]["value"], other["right"]["run_count"]) == (1.0, 5)


async def test_runs_before_a_moment_are_compared_with_those_from_it_on(history: History) -> None:
    before = await history.add("lls", "a", 1)
    after = await history.add("ss", "a", 2)
    found = await history.compared(split_at="2027-01-31T03:00:00+01:00")
    assert [run["id"] for run in found["left"]["runs"]] == before[::-1]
    assert [run["id"] for run in found["right"]["runs"]] == after[::-1]
    assert found["comparable"] is True


async def test_two_runs_are_compared_and_the_one_before_is_found(history: History) -> None:
    first, second, third = await history.add("slf", "a")
    found = await history.compared(right_run=second)
    assert [run["id"] for run in found["left"]["runs"]] == [first]
    assert found["comparable"] is True
    assert found["gap"]["score"] is None, "one run has no interval"
    named = await history.compared(left_run=second, right_run=third)
    assert named["comparable"] is False
    assert [one["detail"] for one in named["differences"]] == [
        "No run on the right was carried out to an outcome."
    ]
    assert (await history.compared(right_run=first))["left"]["run_count"] == 0


async def test_open_run_is_compared_with_nothing(history: History) -> None:
    [ended] = await history.add("s", "a")
    lease = await make_running(history.services.database, history.tenant.account_id, history.test_id)
    found = await history.compared(left_run=ended, right_run=str(lease.run_id))
    assert (found["comparable"], found["right"]["outcomes"]) == (False, {"running": 1})


async def test_another_yardstick_makes_sets_not_comparable(history: History) -> None:
    await history.add("ss", "a", 1, base_threshold=0.9)
    await history.add("ss", "b", 2, base_threshold=0.5)
    found = await history.compared()
    assert (found["comparable"], found["gap"]) == (False, None)
    [why] = found["differences"]
    assert (why["kind"], why["field"]) == ("yardstick", "base_threshold")
    assert found["right"]["success"]["value"] == 1.0, "each side is told all the same"


async def test_test_without_runs_compares_nothing_and_says_so(history: History) -> None:
    found = await history.compared()
    assert found["comparable"] is False
    assert [one["kind"] for one in found["differences"]] == ["runs", "runs"]
    assert found["revisions"] == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"split_at": "soon"}, "split_at"),
        ({"split_at": "2027-01-31T00:00:00"}, "split_at"),
        ({"left_run": NOWHERE}, "right_run"),
        ({"right_run": "first"}, "right_run"),
        ({"right_run": NOWHERE, "left_revision": "a"}, "split_at"),
        ({"left_revision": "a" * 65}, "left_revision"),
    ],
)
async def test_what_cannot_be_meant_is_refused(history: History, query: dict[str, str], field: str) -> None:
    answer = await history.client.get(history.path, params=query, headers=history.tenant.auth)
    assert (answer.status_code, answer.json()["details"][0]["field"]) == (400, field)


async def test_unknown_runs_and_tests_are_not_found(history: History) -> None:
    [run] = await history.add("s", "a")
    for query in ({"right_run": NOWHERE}, {"right_run": run, "left_run": str(new_id())}):
        answer = await history.client.get(history.path, params=query, headers=history.tenant.auth)
        assert answer.status_code == 404
    nowhere = f"/api/v1/agentic-tests/{NOWHERE}/comparison"
    assert (await history.client.get(nowhere, headers=history.tenant.auth)).status_code == 404


async def test_only_the_account_itself_compares(history: History) -> None:
    await history.add("s", "a")
    stranger = await make_tenant(history.services.database, "Stranger")
    for auth, status in ((stranger.auth, 404), (history.tenant.public.auth, 403), ({}, 401)):
        assert (await history.client.get(history.path, headers=auth)).status_code == status


async def test_runs_of_another_test_are_not_taken_in(history: History) -> None:
    [run] = await history.add("s", "a")
    body = {"name": "Other", "goal": "Other"}
    found = await history.client.get(f"/api/v1/agentic-tests/{history.test_id}", headers=history.tenant.auth)
    body["gateway"] = found.json()["data"]["gateway"]
    other = await history.client.post("/api/v1/agentic-tests", json=body, headers=history.tenant.auth)
    path = f"/api/v1/agentic-tests/{other.json()['data']['id']}/comparison"
    answer = await history.client.get(path, params={"right_run": run}, headers=history.tenant.auth)
    assert answer.status_code == 404
