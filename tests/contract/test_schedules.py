"""Schedules over HTTP: what a save answers, and how a refusal reads."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from parley.server.wiring import Services
from tests.factories.accounts import Tenant
from tests.factories.gateways import make_gateway

PATH = "/api/v1/agentic-tests"


@pytest.fixture
async def least(services: Services, tenant: Tenant) -> dict[str, Any]:
    """The smallest body of a test."""
    gateway = await make_gateway(services, tenant)
    return {"name": "Refund", "gateway": gateway.slug, "goal": "Get a refund"}


def moment(text: str) -> datetime:
    assert text.endswith("Z")
    return datetime.fromisoformat(text)


async def test_saved_schedule_answers_what_it_means_and_its_next_three_starts(
    client: httpx.AsyncClient, tenant: Tenant, least: dict[str, Any]
) -> None:
    body = least | {"cron": "30 6 * * *"}
    answer = (await client.post(PATH, json=body, headers=tenant.auth)).json()
    made = answer["data"]
    first, *others = map(moment, made["upcoming"])
    assert (first.hour, first.minute, first.second) == (6, 30, 0)
    assert timedelta() < first - datetime.now(UTC) <= timedelta(days=1, minutes=1)
    assert others == [first + timedelta(days=1), first + timedelta(days=2)]
    assert made["next_run_at"] == made["upcoming"][0]
    assert answer["message"] == f"Runs every day at 06:30 UTC; next at {made['next_run_at']}."
    listed = (await client.get(PATH, headers=tenant.auth)).json()["data"]
    assert listed[0]["next_run_at"] == made["next_run_at"]
    read = (await client.get(f"{PATH}/{made['id']}", headers=tenant.auth)).json()["data"]
    assert read == made


@pytest.mark.parametrize("change", [{"cron": None}, {"enabled": False}])
async def test_schedule_that_rests_has_no_next_start_until_it_is_taken_up_again(
    client: httpx.AsyncClient, tenant: Tenant, least: dict[str, Any], change: dict[str, Any]
) -> None:
    body = least | {"cron": "30 6 * * *"}
    made = (await client.post(PATH, json=body, headers=tenant.auth)).json()["data"]
    one = f"{PATH}/{made['id']}"
    rests = (await client.patch(one, json=change, headers=tenant.auth)).json()
    assert (rests["data"]["next_run_at"], rests["data"]["upcoming"]) == (None, [])
    assert rests["message"] is None
    again = {"cron": "30 6 * * *", "enabled": True}
    taken_up = (await client.patch(one, json=again, headers=tenant.auth)).json()["data"]
    assert taken_up["upcoming"] == made["upcoming"]


async def test_disabled_test_is_made_without_a_next_start(
    client: httpx.AsyncClient, tenant: Tenant, least: dict[str, Any]
) -> None:
    body = least | {"cron": "30 6 * * *", "enabled": False}
    made = (await client.post(PATH, json=body, headers=tenant.auth)).json()["data"]
    assert (made["cron"], made["next_run_at"], made["upcoming"]) == ("30 6 * * *", None, [])


@pytest.mark.parametrize(
    ("cron", "why"),
    [
        ("0,3 * * * *", "again 3 minutes later"),
        ("*/7 * * * *", "again 4 minutes later, at 01:00"),
        ("0 0 30 2 *", "never fires"),
        ("0 0 6 * * *", "must have five fields"),
        ("@hourly", "must be written as five fields"),
        ("5-1 * * * *", "runs backwards"),
        ("*/61 * * * *", "within 1..60"),
    ],
)
async def test_refused_schedule_is_told_with_its_field_and_reason(
    client: httpx.AsyncClient, tenant: Tenant, least: dict[str, Any], cron: str, why: str
) -> None:
    """C131, C132, C136, C137, C138, C148."""
    answer = await client.post(PATH, json=least | {"cron": cron}, headers=tenant.auth)
    assert answer.status_code == 400
    [fault] = answer.json()["details"]
    assert fault["field"] == "cron"
    assert why in fault["problem"]
    assert (await client.get(PATH, headers=tenant.auth)).json()["data"] == []


async def test_both_days_restricted_shows_either_day_in_the_next_starts(
    client: httpx.AsyncClient, tenant: Tenant, least: dict[str, Any]
) -> None:
    """C140."""
    body = least | {"cron": "0 0 1 * mon,tue,wed,thu,fri,sat"}
    made = (await client.post(PATH, json=body, headers=tenant.auth)).json()["data"]
    days = [moment(start) for start in made["upcoming"]]
    assert all(day.isoweekday() != 7 or day.day == 1 for day in days)
    assert days[2] - days[0] <= timedelta(days=3)
