"""Deliveries to webhooks: tried until they arrive, never twice, never where they must not go."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
from typing import Any

import pytest

from parley.server.db.database import Database
from parley.server.errors import DatabaseAway
from parley.server.notifications import deliver, messenger
from parley.server.notifications.backoff import MOST_ATTEMPTS
from parley.server.notifications.deliver import LEASE_S, MOST_AT_ONCE
from parley.server.notifications.repository import claim, record
from parley.server.notifications.secrets import place_of
from parley.server.wiring import Services
from tests.factories.accounts import Tenant
from tests.factories.ended_runs import end_run
from tests.integration.notifications.scene import (
    delivered_by,
    deliverer_of,
    deliveries,
    make_channel,
    make_due,
    make_test,
    reactions_of,
    rows,
)
from tests.receivers import Call, Play, Receiver, drips, floods, hangs_up, says, waits
from tests.stage import until


async def alert(services: Services, tenant: Tenant) -> None:
    """A piece of news for all readers of the tenant."""
    test_id = await make_test(services.database, tenant, name="Refund <b> & @all")
    await end_run(services.database, tenant.account_id, test_id, "f")
    await reactions_of(services).once()


async def the_delivery(database: Database) -> dict[str, Any]:
    [row] = await deliveries(database)
    return row


def is_signed(call: Call, secret: str) -> bool:
    """As a receiver checks it, from the standard's words."""
    headers = call.headers
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + call.body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return f"v1,{expected}" in headers["webhook-signature"].split(" ")


async def test_json_form_is_signed(services: Services, tenant: Tenant, receiver: Receiver) -> None:
    saved = await make_channel(services, tenant, receiver.url("/in?key=7"))
    await alert(services, tenant)
    assert await delivered_by(deliverer_of(services)) == 1
    [call] = receiver.calls
    assert saved.secret is not None
    assert (call.method, call.path, is_signed(call, saved.secret)) == ("POST", "/in?key=7", True)
    assert not is_signed(call, "whsec_" + base64.b64encode(bytes(32)).decode())
    assert (call.json["type"], call.json["data"]["test"]["name"]) == ("test.failing", "Refund <b> & @all")
    assert call.json["url"].startswith("https://parley.example/tests/")
    row = await the_delivery(services.database)
    assert call.headers["webhook-id"] == f"msg_{row['notification_id'].hex}"
    assert (row["state"], row["attempts"], row["status"], row["error"]) == ("delivered", 1, 200, None)


async def test_slack_form_is_text_without_markup_and_not_signed(
    services: Services, tenant: Tenant, receiver: Receiver
) -> None:
    await make_channel(services, tenant, receiver.url("/in"), format="slack")
    await alert(services, tenant)
    await delivered_by(deliverer_of(services))
    [call] = receiver.calls
    assert call.json["text"].startswith("Refund &lt;b&gt; &amp; @\u200ball: a run failed")
    assert call.json["mrkdwn"] is False
    assert not any(name.startswith("webhook-") for name in call.headers)


async def test_failed_delivery_waits_and_is_tried_again_with_the_same_id(
    services: Services, tenant: Tenant, receiver: Receiver
) -> None:
    saved = await make_channel(services, tenant, receiver.url("/in"))
    receiver.on("/in", says(500, b"stack trace of the receiver"))
    await alert(services, tenant)
    assert await delivered_by(deliverer_of(services)) == 1
    row = await the_delivery(services.database)
    assert (row["state"], row["attempts"], row["status"]) == ("pending", 1, 500)
    assert row["error"] == "The address answered with status 500."
    assert 25 < row["due_in_s"] <= 30
    receiver.on("/in", says(204, b""))
    await make_due(services.database)
    await delivered_by(deliverer_of(services))
    row = await the_delivery(services.database)
    assert (row["state"], row["attempts"], row["status"], row["error"]) == ("delivered", 2, 204, None)
    first, second = receiver.calls
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body
    assert saved.secret is not None
    assert is_signed(second, saved.secret)


async def test_delivery_is_given_up_after_its_last_try(
    services: Services, tenant: Tenant, receiver: Receiver
) -> None:
    await make_channel(services, tenant, receiver.on("/in", says(503)))
    await alert(services, tenant)
    for attempt in range(1, MOST_ATTEMPTS + 1):
        await make_due(services.database)
        assert await delivered_by(deliverer_of(services)) == 1
        row = await the_delivery(services.database)
        assert (row["attempts"], row["state"] == "failed") == (attempt, attempt == MOST_ATTEMPTS)
    await make_due(services.database)
    assert await delivered_by(deliverer_of(services)) == 0
    assert (await the_delivery(services.database))["finished_at"] is not None
    assert len(receiver.calls) == MOST_ATTEMPTS


async def test_other_side_says_when_to_come_back(
    services: Services, tenant: Tenant, receiver: Receiver
) -> None:
    await make_channel(services, tenant, receiver.on("/in", says(429, Retry_After="300")))
    await alert(services, tenant)
    await delivered_by(deliverer_of(services))
    assert 290 < (await the_delivery(services.database))["due_in_s"] <= 300


async def test_address_that_is_gone_for_good_is_not_tried_again(
    services: Services, tenant: Tenant, receiver: Receiver
) -> None:
    await make_channel(services, tenant, receiver.on("/in", says(410)))
    await alert(services, tenant)
    await delivered_by(deliverer_of(services))
    row = await the_delivery(services.database)
    assert (row["state"], row["status"]) == ("failed", 410)


HOSTILE: list[tuple[Play, int | None, str]] = [
    (says(302, b"", Location="http://127.0.0.2:8080/"), 302, "The address answered with status 302."),
    (waits, None, "The address did not answer within 0.3 seconds."),
    (hangs_up, None, "The connection to the address failed."),
]


@pytest.mark.parametrize(("play", "status", "error"), HOSTILE, ids=["redirect", "silence", "hang-up"])
async def test_hostile_receiver_gets_nothing_more_and_learns_nothing(
    services: Services,
    tenant: Tenant,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    play: Play,
    status: int | None,
    error: str,
) -> None:
    monkeypatch.setattr(messenger, "WEBHOOK_DEADLINE_S", 0.3)
    await make_channel(services, tenant, receiver.on("/in", play))
    await alert(services, tenant)
    async with asyncio.timeout(5):
        await delivered_by(deliverer_of(services))
    row = await the_delivery(services.database)
    assert receiver.connections == 1
    assert (row["state"], row["status"], row["error"]) == ("pending", status, error)


async def test_dripping_answer_ends_at_the_deadline(
    services: Services, tenant: Tenant, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messenger, "WEBHOOK_DEADLINE_S", 0.3)
    await make_channel(services, tenant, receiver.on("/in", drips))
    await alert(services, tenant)
    async with asyncio.timeout(5):
        await delivered_by(deliverer_of(services))
    row = await the_delivery(services.database)
    assert row["error"] == "The address did not answer within 0.3 seconds."


async def test_large_answer_is_not_read(services: Services, tenant: Tenant, receiver: Receiver) -> None:
    await make_channel(services, tenant, receiver.on("/in", floods(200_000_000)))
    await alert(services, tenant)
    async with asyncio.timeout(5):
        await delivered_by(deliverer_of(services))
    assert (await the_delivery(services.database))["state"] == "delivered"


@pytest.mark.parametrize("host", ["127.0.0.2", "[::1]", "2130706434"])
async def test_address_that_leads_inside_since_it_was_saved_is_not_called(
    services: Services, tenant: Tenant, receiver: Receiver, host: str
) -> None:
    saved = await make_channel(services, tenant, "https://example.com/in")
    place = place_of(tenant.account_id, saved.row.id, "url")
    inner = services.keyring.seal(f"http://{host}:{receiver.port}/in", place)
    await rows(services.database, "UPDATE channels SET sealed_url = $1", inner)
    await alert(services, tenant)
    await delivered_by(deliverer_of(services))
    row = await the_delivery(services.database)
    assert (row["state"], row["status"]) == ("pending", None)
    assert row["error"] == "The address cannot be reached: it does not lead to a public address."
    assert receiver.connections == 0


async def test_many_processes_deliver_each_once(
    services: Services, tenant: Tenant, receiver: Receiver
) -> None:
    for number in range(5):
        await make_channel(services, tenant, receiver.url(f"/{number}"))
    for _ in range(4):
        await alert(services, tenant)
    attempts = await asyncio.gather(*(delivered_by(deliverer_of(services)) for _ in range(4)))
    assert sum(attempts) == len(receiver.calls) == 20
    assert len({(call.path, call.headers["webhook-id"]) for call in receiver.calls}) == 20
    assert {row["state"] for row in await deliveries(services.database)} == {"delivered"}


async def test_delivery_of_a_lost_process_is_taken_over_when_its_lease_ends(
    services: Services, tenant: Tenant, receiver: Receiver
) -> None:
    await make_channel(services, tenant, receiver.on("/in", waits))
    await alert(services, tenant)
    lost = deliverer_of(services)
    await lost.once()
    await until(lambda: receiver.calls)
    await lost.close()
    assert await delivered_by(deliverer_of(services)) == 0
    row = await the_delivery(services.database)
    assert (row["state"], row["attempts"]) == ("pending", 1)
    assert LEASE_S - 10 < row["due_in_s"] <= LEASE_S
    receiver.on("/in", says(200))
    await make_due(services.database)
    assert await delivered_by(deliverer_of(services)) == 1
    assert (await the_delivery(services.database))["attempts"] == 2


async def test_late_word_of_a_lost_process_changes_nothing(
    services: Services, tenant: Tenant, receiver: Receiver
) -> None:
    await make_channel(services, tenant, receiver.on("/in", says(500)))
    await alert(services, tenant)
    async with services.database.session() as session:
        [held] = await claim(session, 10, 0.0)
    receiver.on("/in", says(200))
    await delivered_by(deliverer_of(services))
    receiver.on("/in", says(410))
    await deliver.deliver(services.database, services.messenger, held)
    row = await the_delivery(services.database)
    assert (row["state"], row["status"], row["attempts"]) == ("delivered", 200, 2)


async def test_word_of_a_delivery_waits_for_the_database(
    services: Services, tenant: Tenant, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make_channel(services, tenant, receiver.url("/in"))
    await alert(services, tenant)
    answers = [DatabaseAway(), DatabaseAway()]

    async def away_at_first(*given: Any) -> None:
        if answers:
            raise answers.pop()
        await record(*given)

    monkeypatch.setattr(deliver, "record", away_at_first)
    await delivered_by(deliverer_of(services))
    assert len(receiver.calls) == 1
    assert (await the_delivery(services.database))["state"] == "delivered"


async def test_channel_switched_off_meanwhile_gets_nothing(
    services: Services, tenant: Tenant, receiver: Receiver
) -> None:
    await make_channel(services, tenant, receiver.url("/in"))
    await alert(services, tenant)
    await rows(services.database, "UPDATE channels SET enabled = false")
    await delivered_by(deliverer_of(services))
    row = await the_delivery(services.database)
    assert (row["state"], row["error"], receiver.calls) == ("failed", "The channel was switched off.", [])


async def test_channel_whose_key_is_gone_waits_for_it(
    services: Services, tenant: Tenant, receiver: Receiver
) -> None:
    await make_channel(services, tenant, receiver.url("/in"))
    await alert(services, tenant)
    await rows(services.database, "UPDATE channels SET sealed_url = '\\x00112233445566'")
    await delivered_by(deliverer_of(services))
    row = await the_delivery(services.database)
    assert (row["state"], row["error"]) == ("pending", "The channel's address could not be opened.")


async def test_accounts_take_turns(
    services: Services, tenant: Tenant, stranger: Tenant, receiver: Receiver
) -> None:
    for number in range(3):
        await make_channel(services, tenant, receiver.on(f"/dead/{number}", waits))
    for _ in range(5):
        await alert(services, tenant)
    await make_channel(services, stranger, receiver.url("/alive"))
    await alert(services, stranger)
    deliverer = deliverer_of(services)
    assert await deliverer.once() == MOST_AT_ONCE
    await until(lambda: receiver.at("/alive"))
    await deliverer.close()
