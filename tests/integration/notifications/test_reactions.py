"""Ends are counted once and told once, whoever reacts and however often."""

from __future__ import annotations

import asyncio
import dataclasses
import random
import socket
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from pydantic import SecretStr

from parley.engine.state import State
from parley.server.agentic_tests import service as tests_service
from parley.server.config import RedisSettings
from parley.server.db.database import Database
from parley.server.db.session import Session
from parley.server.errors import DatabaseAway
from parley.server.journal.keep import LeaseLost
from parley.server.notifications.policy import Health, Wishes, after
from parley.server.notifications.teller import Teller
from parley.server.runs.ended import ends_of
from parley.server.runs.finish import finish
from parley.server.wiring import Services, open_services
from parley.server.worker.main import Worker
from parley.server.worker.reactions import react
from tests.factories.accounts import Tenant
from tests.factories.ended_runs import ENDS, end_run, make_running
from tests.integration.notifications.mail_server import MailServer
from tests.integration.notifications.scene import (
    delivered_by,
    deliverer_of,
    deliveries,
    give_email,
    kinds,
    make_channel,
    make_test,
    reactions_of,
    rows,
)
from tests.receivers import Receiver
from tests.stage import Stage, until

NOWHERE = "http://127.0.0.1:8999/"


async def health_of(database: Database, test_id: UUID) -> dict[str, Any]:
    [row] = await rows(database, "SELECT * FROM agentic_tests WHERE id = $1", test_id)
    return row


async def outbox(database: Database) -> list[dict[str, Any]]:
    return await rows(database, "SELECT * FROM outbox")


# The outbox


@pytest.mark.parametrize("letter", ENDS)
async def test_every_end_is_written_to_the_outbox_with_it(
    database: Database, tenant: Tenant, letter: str
) -> None:
    test_id = await make_test(database, tenant)
    run_id = await end_run(database, tenant.account_id, test_id, letter)
    [row] = await outbox(database)
    assert (row["account_id"], row["kind"]) == (tenant.account_id, "run_ended")
    assert (row["group_id"], row["subject_id"]) == (test_id, run_id)


async def test_end_that_is_refused_or_repeated_writes_nothing(database: Database, tenant: Tenant) -> None:
    lease = await make_running(database, tenant.account_id, await make_test(database, tenant))
    with pytest.raises(LeaseLost):
        await finish(database, dataclasses.replace(lease, token=uuid4()), State(), ENDS["f"])
    assert await outbox(database) == []
    await finish(database, lease, State(), ENDS["f"])
    await finish(database, lease, State(), ENDS["f"])
    assert len(await outbox(database)) == 1


async def test_pending_run_that_is_cancelled_is_written_too(services: Services, tenant: Tenant) -> None:
    database = services.database
    test_id = await make_test(database, tenant)
    run_id = (await make_running(database, tenant.account_id, test_id)).run_id
    await rows(database, "UPDATE runs SET state = 'pending', lease_token = NULL")
    async with database.session() as session:
        await services.canceller.cancel(session, tenant.scope, test_id, run_id)
    [row] = await outbox(database)
    assert row["subject_id"] == run_id
    await reactions_of(services).once()
    assert await outbox(database) == []


# Counting and telling


async def test_failures_are_counted_and_told_at_the_threshold(services: Services, tenant: Tenant) -> None:
    """C199."""
    database = services.database
    test_id = await make_test(database, tenant, notification_threshold=2)
    await make_channel(services, tenant, NOWHERE)
    reactions = reactions_of(services)
    before = await health_of(database, test_id)
    for letter, count, told in [("f", 1, 0), ("c", 1, 0), ("f", 2, 1), ("f", 3, 1), ("s", 0, 2), ("s", 0, 2)]:
        await end_run(database, tenant.account_id, test_id, letter)
        await reactions.once()
        row = await health_of(database, test_id)
        assert (row["consecutive_failures"], len(await kinds(database))) == (count, told)
        assert (row["last_notification_at"] is None) == (told == 0)
        assert row["updated_at"] == before["updated_at"], "counting is no change of the test"
    assert await kinds(database) == ["test.failing", "test.recovered"]
    assert await outbox(database) == []


async def test_ends_that_waited_are_told_in_order(services: Services, tenant: Tenant) -> None:
    database = services.database
    test_id = await make_test(database, tenant, outcome_notification=True)
    await make_channel(services, tenant, NOWHERE)
    for letter in "sffls":
        await end_run(database, tenant.account_id, test_id, letter)
    await reactions_of(services).once()
    assert await kinds(database) == ["test.failing", "test.recovered", "behaviour.lost", "behaviour.regained"]


async def test_parallel_ends_and_reactions_make_one_alert(services: Services, tenant: Tenant) -> None:
    """C199."""
    database = services.database
    test_id = await make_test(database, tenant, notification_threshold=5)
    await make_channel(services, tenant, NOWHERE)
    leases = [await make_running(database, tenant.account_id, test_id) for _ in range(24)]
    is_over = asyncio.Event()

    async def keep_reacting() -> None:
        reactions = reactions_of(services)
        while not is_over.is_set():
            await reactions.once()

    reactors = [asyncio.create_task(keep_reacting()) for _ in range(3)]
    await asyncio.gather(*(finish(database, lease, State(), ENDS["f"]) for lease in leases))
    is_over.set()
    await asyncio.gather(*reactors)
    await reactions_of(services).once()
    row = await health_of(database, test_id)
    assert row["consecutive_failures"] == 24
    assert await kinds(database) == ["test.failing"]
    assert len(await deliveries(database)) == 1


@pytest.mark.parametrize("seed", range(4))
async def test_any_interleaving_tells_what_the_policy_says(
    services: Services, tenant: Tenant, seed: int
) -> None:
    """Whatever is reacted to together, late or by two at once: the same as one after another."""
    database = services.database
    draw = random.Random(seed)
    wishes = {"notification_threshold": draw.choice([1, 2]), "outcome_notification": True}
    test_id = await make_test(database, tenant, **wishes)
    await make_channel(services, tenant, NOWHERE)
    run_ids: list[UUID] = []
    for letter in draw.choices("ffsslc", k=20):
        run_ids.append(await end_run(database, tenant.account_id, test_id, letter))
        if draw.random() < 0.4:
            await asyncio.gather(reactions_of(services).once(), reactions_of(services).once())
    await reactions_of(services).once()
    async with database.session() as session:
        ends = await ends_of(session, tenant.scope, run_ids)
    health = Health()
    expected: list[str] = []
    for one in ends:
        told = Wishes(threshold=wishes["notification_threshold"], outcome=True)
        health, news = after(health, told, one.end)
        expected += news
    assert await kinds(database) == expected
    assert (await health_of(database, test_id))["consecutive_failures"] == health.failures


async def test_reacting_again_counts_nothing_again(services: Services, tenant: Tenant) -> None:
    """C199."""
    database = services.database
    test_id = await make_test(database, tenant)
    await make_channel(services, tenant, NOWHERE)
    await end_run(database, tenant.account_id, test_id, "f")
    for _ in range(3):
        async with database.session() as session:
            await react(session, tenant.scope, Teller(sends_mail=True), test_id)
    assert (await health_of(database, test_id))["consecutive_failures"] == 1
    assert await kinds(database) == ["test.failing"]


async def test_reaction_that_breaks_half_way_is_done_again_later_and_counts_once(
    services: Services, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = services.database
    test_id = await make_test(database, tenant)
    await make_channel(services, tenant, NOWHERE)
    await end_run(database, tenant.account_id, test_id, "f")
    tell = Teller.tell

    async def breaks(self: Teller, *given: Any) -> Any:
        await tell(self, *given)
        raise RuntimeError("killed")

    monkeypatch.setattr(Teller, "tell", breaks)
    await reactions_of(services).once()
    monkeypatch.undo()
    [row] = await rows(database, "SELECT tries, due_at > now() AS waits FROM outbox")
    assert (row["tries"], row["waits"]) == (1, True)
    assert (await kinds(database), (await health_of(database, test_id))["consecutive_failures"]) == ([], 0)
    await rows(database, "UPDATE outbox SET due_at = now()")
    await reactions_of(services).once()
    assert await kinds(database) == ["test.failing"]
    assert (await health_of(database, test_id))["consecutive_failures"] == 1


async def test_one_broken_test_does_not_hold_up_others(
    services: Services, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = services.database
    broken, sound = await make_test(database, tenant), await make_test(database, tenant)
    await make_channel(services, tenant, NOWHERE)
    for test_id in (broken, sound):
        await end_run(database, tenant.account_id, test_id, "f")
    tell = Teller.tell

    async def breaks(self: Teller, session: Session, scope: Any, test: Any, *given: Any) -> Any:
        if test.id == broken:
            raise RuntimeError("broken")
        return await tell(self, session, scope, test, *given)

    monkeypatch.setattr(Teller, "tell", breaks)
    await reactions_of(services).once()
    assert [row["group_id"] for row in await outbox(database)] == [broken]
    assert await kinds(database) == ["test.failing"]


async def test_database_that_goes_away_is_not_taken_for_a_broken_test(
    services: Services, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = services.database
    await end_run(database, tenant.account_id, await make_test(database, tenant), "f")

    async def away(*_: Any) -> Any:
        raise DatabaseAway

    monkeypatch.setattr(Teller, "tell", away)
    with pytest.raises(DatabaseAway):
        await reactions_of(services).once()
    assert [row["tries"] for row in await outbox(database)] == [0]


async def test_test_that_somebody_holds_is_left_for_the_next_tick(services: Services, tenant: Tenant) -> None:
    database = services.database
    test_id = await make_test(database, tenant)
    await end_run(database, tenant.account_id, test_id, "f")
    async with database.session() as session:
        await tests_service.load_for_run(session, tenant.scope, services.offer, test_id)
        async with asyncio.timeout(5):
            await reactions_of(services).once()
        assert len(await outbox(database)) == 1
    await reactions_of(services).once()
    assert await outbox(database) == []


async def test_deleted_test_is_told_of_no_more(services: Services, tenant: Tenant) -> None:
    database = services.database
    test_id = await make_test(database, tenant)
    await make_channel(services, tenant, NOWHERE)
    await end_run(database, tenant.account_id, test_id, "f")
    async with database.session() as session:
        await tests_service.delete(session, tenant.scope, services.canceller.cancel_open, test_id)
    await reactions_of(services).once()
    assert (await kinds(database), await outbox(database)) == ([], [])


async def test_ends_of_a_test_that_is_gone_are_dropped(services: Services, tenant: Tenant) -> None:
    database = services.database
    await rows(
        database,
        "INSERT INTO outbox (account_id, kind, group_id, subject_id) VALUES ($1, 'run_ended', $2, $2)",
        tenant.account_id,
        uuid4(),
    )
    await reactions_of(services).once()
    assert await outbox(database) == []


async def test_news_go_to_their_own_account_only(
    services: Services, tenant: Tenant, stranger: Tenant
) -> None:
    database = services.database
    own = await make_channel(services, tenant, NOWHERE)
    await make_channel(services, stranger, NOWHERE)
    await give_email(database, stranger, "eve@example.com")
    await end_run(database, tenant.account_id, await make_test(database, tenant), "f")
    await reactions_of(services).once()
    [row] = await deliveries(database)
    assert (row["account_id"], row["channel_id"], row["email"]) == (tenant.account_id, own.row.id, None)


async def test_channel_that_is_off_is_no_reader(services: Services, tenant: Tenant) -> None:
    database = services.database
    await make_channel(services, tenant, NOWHERE, enabled=False)
    test_id = await make_test(database, tenant)
    await end_run(database, tenant.account_id, test_id, "f")
    await reactions_of(services).once()
    row = await health_of(database, test_id)
    assert (row["consecutive_failures"], row["alerted_at"], row["last_notification_at"]) == (1, None, None)
    assert await deliveries(database) == []


# Whole ways


async def test_real_mail_server_gets_one_failure_and_one_recovery_under_parallel_ends(
    services: Services, tenant: Tenant, mailbox: MailServer
) -> None:
    database = services.database
    test_id = await make_test(database, tenant, name="R\u00fcckgabe")
    await give_email(database, tenant, "ada@example.com", "on-call@example.com")

    async def everybody_works() -> None:
        await asyncio.gather(*(reactions_of(services).once() for _ in range(3)))
        await asyncio.gather(*(delivered_by(deliverer_of(services)) for _ in range(3)))

    await asyncio.gather(*(end_run(database, tenant.account_id, test_id, "f") for _ in range(12)))
    await everybody_works()
    assert len(mailbox.mails) == 2
    await asyncio.gather(*(end_run(database, tenant.account_id, test_id, "s") for _ in range(6)))
    await everybody_works()
    assert sorted(mailbox.recipients) == ["ada@example.com"] * 2 + ["on-call@example.com"] * 2
    assert sum("failed," in subject for subject in mailbox.subjects) == 2
    assert sum("runs again" in subject for subject in mailbox.subjects) == 2
    assert all(f"/tests/{test_id}/runs/" in mail.get_content() for mail in mailbox.mails)


@pytest.mark.parametrize(
    ("owner", "contact", "readers"),
    [
        ("ada@example.com", "on-call@example.com", ["ada@example.com", "on-call@example.com"]),
        ("ada@example.com", None, ["ada@example.com"]),
        (None, "on-call@example.com", ["on-call@example.com"]),
        ("ada@example.com", "ada@example.com", ["ada@example.com"]),
        (None, None, []),
    ],
)
async def test_alert_is_mailed_to_the_owner_and_to_the_contact_of_alerts_beside_them(
    client: httpx.AsyncClient,
    services: Services,
    tenant: Tenant,
    mailbox: MailServer,
    owner: str | None,
    contact: str | None,
    readers: list[str],
) -> None:
    body = {"name": "Acme", "owner_email": owner, "alerts_contact": contact}
    assert (await client.put("/api/v1/account", json=body, headers=tenant.auth)).status_code == 200
    test_id = await make_test(services.database, tenant)
    await end_run(services.database, tenant.account_id, test_id, "f")
    await reactions_of(services).once()
    await delivered_by(deliverer_of(services))
    assert sorted(mailbox.recipients) == readers
    assert [mail["To"] for mail in mailbox.mails] == mailbox.recipients


async def test_alert_comes_although_its_worker_died_and_redis_is_gone(
    services: Services, tenant: Tenant, receiver: Receiver
) -> None:
    database = services.database
    test_id = await make_test(database, tenant)
    await make_channel(services, tenant, receiver.url("/alerts"))
    await end_run(database, tenant.account_id, test_id, "f")  # and nobody reacts
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = dataclasses.replace(
        services.settings,
        redis=RedisSettings(url=SecretStr(f"redis://127.0.0.1:{port}/0"), prefix="parley-away"),
        worker=services.settings.worker.model_copy(update={"tick_s": 0.05}),
    )
    stop = asyncio.Event()
    async with open_services(settings) as other:
        task = asyncio.create_task(Worker(other).run(stop))
        await until(lambda: receiver.at("/alerts"))
        stop.set()
        await task
    [call] = receiver.at("/alerts")
    assert call.json["type"] == "test.failing"
    assert [row["state"] for row in await deliveries(database)] == ["delivered"]


async def test_failing_gateway_is_told_and_its_recovery_too(stage: Stage, mailbox: MailServer) -> None:
    await give_email(stage.services.database, stage.tenant, "ada@example.com")
    bad = await stage.http.post(
        "/api/v1/ai-gateways", json={"name": "Bad", "base_url": f"{stage.url}/nowhere", "model": "m"}
    )
    test_id = await stage.make_test(gateway=bad.json()["data"]["slug"], profile="low", max_turns=2)
    async with stage.worker():
        failed = await stage.finished(await stage.start(test_id))
        assert failed["state"] == "failed"
        await until(lambda: len(mailbox.mails) == 1)
        path = f"/api/v1/agentic-tests/{test_id}"
        told = await stage.read(path)
        assert told["consecutive_failures"] == 1
        assert told["last_notification_at"] is not None
        await stage.http.patch(path, json={"gateway": stage.gateway["slug"]})
        assert (await stage.finished(await stage.start(test_id)))["state"] == "succeeded"
        await until(lambda: len(mailbox.mails) == 2)
    assert mailbox.subjects[0].startswith("Boots: a run failed")
    assert mailbox.subjects[1].startswith("Boots: runs again; a run had failed")
    assert (await stage.read(path))["consecutive_failures"] == 0
