from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest

from parley.server.db.database import Database
from parley.server.db.tables import Channel
from parley.server.evaluations.alerts import GateAlerts
from parley.server.evaluations.gate_call import GateCall, called
from parley.server.kit.ids import new_id
from parley.server.notifications.facts import Facts
from parley.server.notifications.teller import Teller
from parley.server.notifications.words import worded
from tests.factories.accounts import Tenant
from tests.factories.evaluations import evaluated, make_dataset


@pytest.fixture
async def dataset(database: Database, tenant: Tenant) -> UUID:
    async with database.session() as session:
        session.add(
            Channel(
                account_id=tenant.account_id,
                id=new_id(),
                name="On call",
                format="slack",
                shown_url="https://alerts.example.com/...",
                sealed_url=b"sealed",
            )
        )
    return await make_dataset(database, tenant.scope)


async def record(database: Database, tenant: Tenant, evaluation_id: UUID, **given: str) -> None:
    call = GateCall(scope=tenant.scope, evaluation_id=evaluation_id, given=list(given.items()), posted=True)
    await called(database, call)


async def told(database: Database) -> list[Any]:
    async with database.raw() as connection:
        return list(
            await connection.fetch(
                "SELECT notifications.kind, facts, count(deliveries.id) AS deliveries FROM notifications"
                " LEFT JOIN deliveries ON deliveries.notification_id = notifications.id"
                " GROUP BY notifications.account_id, notifications.id, notifications.kind, facts"
            )
        )


def alerts(database: Database) -> GateAlerts:
    return GateAlerts(database, Teller(sends_mail=False), tick_s=1)


async def test_red_gate_is_told_once_however_often_it_is_recorded(
    database: Database, tenant: Tenant, dataset: UUID
) -> None:
    made = await evaluated(database, tenant.scope, dataset, [5, 9], branch="main", commit="4f0c2d1")
    await asyncio.gather(*(record(database, tenant, made, failUnder="8", caller=f"ci-{n}") for n in range(4)))
    await asyncio.gather(*(alerts(database).once() for _ in range(3)))
    await record(database, tenant, made, failUnder="9", caller="me")
    await alerts(database).once()
    [row] = await told(database)
    assert (row["kind"], row["deliveries"]) == ("gate.failed", 1)
    message = worded("gate.failed", Facts.model_validate(row["facts"]), "https://parley.example")
    assert message.title.startswith("Questions: gate failed on main, ")
    assert message.lines == (
        "Why: The mean rating 7 is under 8.",
        "Commit: 4f0c2d1",
        "Account: Owner",
    )
    assert message.url == f"https://parley.example/evaluations/{made}"


async def test_green_and_undecided_gates_are_not_told(
    database: Database, tenant: Tenant, dataset: UUID
) -> None:
    made = await evaluated(database, tenant.scope, dataset, [9, 9])
    await record(database, tenant, made, failUnder="8")
    second = await evaluated(database, tenant.scope, dataset, [9, 8])
    await record(database, tenant, second, significance="0.05")
    await alerts(database).once()
    assert await told(database) == []


async def test_gate_that_is_only_asked_is_not_told(database: Database, tenant: Tenant, dataset: UUID) -> None:
    made = await evaluated(database, tenant.scope, dataset, [1])
    call = GateCall(scope=tenant.scope, evaluation_id=made, given=[("failUnder", "8")])
    assert (await called(database, call)).verdict == "failed"
    await alerts(database).once()
    assert await told(database) == []


async def test_alert_that_breaks_is_told_later(
    database: Database, tenant: Tenant, dataset: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await evaluated(database, tenant.scope, dataset, [1])
    await record(database, tenant, made, failUnder="8")

    async def broken(*_: object) -> bool:
        raise RuntimeError("planted")

    with monkeypatch.context() as patched:
        patched.setattr(Teller, "tell_of_gate", broken)
        await alerts(database).once()
    assert await told(database) == []
    async with database.raw() as connection:
        assert await connection.execute("UPDATE outbox SET due_at = now()") == "UPDATE 1"
    await alerts(database).once()
    assert [row["kind"] for row in await told(database)] == ["gate.failed"]
