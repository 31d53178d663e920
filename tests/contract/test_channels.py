"""`/api/v1/channels`, as owner, stranger, public key and nobody."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from parley.server.config import OutboundSettings, Settings, SmtpSettings
from parley.server.db.database import Database
from parley.server.notifications.service import MOST_CHANNELS
from parley.server.wiring import Services
from tests.factories.accounts import Tenant, make_key
from tests.integration.notifications.mail_server import MailServer, mail_server
from tests.integration.notifications.scene import give_email, make_channel, rows
from tests.receivers import Receiver, receiving, says

URL = "/api/v1/channels"
UNKNOWN = "01a22cd1-1c69-7435-8e3a-8a2be0d79950"
BODY = {"name": "On call", "url": "https://alerts.example.com/in/canary-9f2c?key=canary-77ab"}


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as opened:
        yield opened


@pytest.fixture
async def mailbox() -> AsyncIterator[MailServer]:
    async with mail_server() as opened:
        yield opened


@pytest.fixture
def settings(settings: Settings, mailbox: MailServer) -> Settings:
    return dataclasses.replace(
        settings,
        outbound=OutboundSettings(allowed_networks=("127.0.0.1/32",)),
        smtp=SmtpSettings(
            host="127.0.0.1", port=mailbox.port, security="none", sender="alerts@parley.example"
        ),
    )


async def made(client: httpx.AsyncClient, tenant: Tenant, **fields: Any) -> dict[str, Any]:
    answer = await client.post(URL, headers=tenant.auth, json=BODY | fields)
    assert answer.status_code == 201, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


async def test_secret_is_shown_once_and_the_address_never(
    client: httpx.AsyncClient, tenant: Tenant, database: Database
) -> None:
    data = await made(client, tenant)
    secret = data.pop("secret")
    assert secret.startswith("whsec_")
    assert len(secret) == 50
    assert data["shown_url"] == "https://alerts.example.com/..."
    assert (data["name"], data["format"], data["enabled"]) == ("On call", "json", True)
    url = f"{URL}/{data['id']}"
    assert (await client.get(url, headers=tenant.auth)).json()["data"] == data
    listed = await client.get(URL, headers=tenant.auth)
    assert listed.json()["data"] == [data]
    [row] = await rows(database, "SELECT * FROM channels")
    for text in (listed.text, repr(row)):
        assert "canary" not in text
        assert secret not in text


async def test_slack_channel_has_no_secret(client: httpx.AsyncClient, tenant: Tenant) -> None:
    assert (await made(client, tenant, format="slack"))["secret"] is None


async def test_patch_changes_only_what_is_sent(
    client: httpx.AsyncClient, tenant: Tenant, database: Database
) -> None:
    before = await made(client, tenant)
    url = f"{URL}/{before['id']}"
    [stored] = await rows(database, "SELECT sealed_url, sealed_secret FROM channels")
    answer = await client.patch(url, headers=tenant.auth, json={"enabled": False, "name": "Off call"})
    after = answer.json()["data"]
    assert (after["enabled"], after["name"], after["secret"]) == (False, "Off call", None)
    kept = set(before) - {"enabled", "name", "secret", "updated_at"}
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    assert await rows(database, "SELECT sealed_url, sealed_secret FROM channels") == [stored]
    moved = await client.patch(url, headers=tenant.auth, json={"url": "http://other.example:8080/"})
    assert moved.json()["data"]["shown_url"] == "http://other.example:8080"


async def test_secret_is_rolled_made_and_dropped(client: httpx.AsyncClient, tenant: Tenant) -> None:
    before = await made(client, tenant)
    url = f"{URL}/{before['id']}"

    async def change(**body: Any) -> str | None:
        secret: str | None = (await client.patch(url, headers=tenant.auth, json=body)).json()["data"][
            "secret"
        ]
        return secret

    rolled = await change(roll_secret=True)
    assert rolled not in (None, before["secret"])
    assert await change(format="json") is None
    assert await change(format="slack", roll_secret=True) is None
    assert await change(format="json") not in (None, rolled)


BAD: list[tuple[str, Any]] = [
    ("name", ""),
    ("name", " "),
    ("name", "x" * 201),
    ("name", None),
    ("url", ""),
    ("url", None),
    ("url", "alerts.example.com"),
    ("url", "ftp://alerts.example.com"),
    ("url", "https://user:pass@alerts.example.com"),
    ("url", "https://10.0.0.1/"),
    ("url", "http://127.0.0.2/"),
    ("url", "http://[::1]/"),
    ("url", "http://169.254.169.254/latest"),
    ("url", "https://alerts.example.com:22/"),
    ("format", "xml"),
    ("format", None),
    ("enabled", "yes"),
    ("enabled", None),
    ("secret", "whsec_mine"),
]


@pytest.mark.parametrize(("field", "value"), BAD)
async def test_fault_is_named_by_its_field(
    client: httpx.AsyncClient, tenant: Tenant, field: str, value: Any
) -> None:
    url = f"{URL}/{(await made(client, tenant))['id']}"
    for answer in (
        await client.post(URL, headers=tenant.auth, json=BODY | {field: value}),
        await client.patch(url, headers=tenant.auth, json={field: value}),
    ):
        assert answer.status_code == 400
        assert [line["field"] for line in answer.json()["details"]] == [field]
    assert len((await client.get(URL, headers=tenant.auth)).json()["data"]) == 1


async def test_account_has_so_many_channels(client: httpx.AsyncClient, tenant: Tenant) -> None:
    for _ in range(MOST_CHANNELS):
        await made(client, tenant)
    answer = await client.post(URL, headers=tenant.auth, json=BODY)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert "20 channels" in answer.json()["error"]


async def test_test_button_tells_what_became_of_it(
    client: httpx.AsyncClient, tenant: Tenant, receiver: Receiver
) -> None:
    data = await made(client, tenant, url=receiver.url("/in"), enabled=False)
    answer = await client.post(f"{URL}/{data['id']}/test", headers=tenant.auth)
    assert answer.status_code == 200
    told = answer.json()["data"]
    assert (told["state"], told["attempts"], told["status"], told["kind"]) == (
        "delivered",
        1,
        200,
        "channel.test",
    )
    [call] = receiver.calls
    assert call.json["type"] == "channel.test"
    receiver.on("/in", says(500))
    answer = await client.post(f"{URL}/{data['id']}/test", headers=tenant.auth)
    failed = answer.json()["data"]
    assert answer.json()["message"] == failed["error"] == "The address answered with status 500."
    assert (failed["state"], failed["next_attempt_at"]) == ("failed", None)
    log = (await client.get(f"{URL}/{data['id']}/deliveries", headers=tenant.auth)).json()["data"]
    assert log == [failed, told]


async def test_mail_is_tried_with_its_own_button(
    client: httpx.AsyncClient, tenant: Tenant, database: Database, mailbox: MailServer
) -> None:
    nobody = await client.post(f"{URL}/email/test", headers=tenant.auth)
    assert nobody.status_code == 400
    await give_email(database, tenant, "ada@example.com", "on-call@example.com")
    answer = await client.post(f"{URL}/email/test", headers=tenant.auth)
    assert [(line["email"], line["state"]) for line in answer.json()["data"]] == [
        ("ada@example.com", "delivered"),
        ("on-call@example.com", "delivered"),
    ]
    assert mailbox.subjects == ["Parley: this is a test message"] * 2
    log = (await client.get(f"{URL}/email/deliveries", headers=tenant.auth)).json()["data"]
    assert log == answer.json()["data"][::-1]


async def test_log_has_pages(client: httpx.AsyncClient, tenant: Tenant, receiver: Receiver) -> None:
    data = await made(client, tenant, url=receiver.url("/in"))
    for _ in range(5):
        await client.post(f"{URL}/{data['id']}/test", headers=tenant.auth)
    url, seen, cursor = f"{URL}/{data['id']}/deliveries", [], ""
    for _ in range(3):
        answer = await client.get(url, headers=tenant.auth, params={"limit": 2, "cursor": cursor})
        seen += [line["id"] for line in answer.json()["data"]]
        cursor = answer.json()["page"]["next_cursor"] or ""
    assert (len(set(seen)), seen, cursor) == (5, sorted(seen, reverse=True), "")


async def test_deleted_channel_takes_its_log_along(
    client: httpx.AsyncClient, tenant: Tenant, receiver: Receiver, database: Database
) -> None:
    data = await made(client, tenant, url=receiver.url("/in"))
    url = f"{URL}/{data['id']}"
    await client.post(f"{url}/test", headers=tenant.auth)
    assert (await client.delete(url, headers=tenant.auth)).status_code == 204
    assert (await client.delete(url, headers=tenant.auth)).status_code == 404
    assert (await client.get(url, headers=tenant.auth)).status_code == 404
    assert await rows(database, "SELECT id FROM deliveries") == []


BY_ID = [
    ("GET", "", None),
    ("PATCH", "", {"name": "Mine now"}),
    ("DELETE", "", None),
    ("POST", "/test", None),
    ("GET", "/deliveries", None),
]


@pytest.mark.parametrize(("method", "path", "body"), BY_ID)
async def test_foreign_and_unknown_channels_are_alike(
    client: httpx.AsyncClient,
    tenant: Tenant,
    stranger: Tenant,
    receiver: Receiver,
    services: Services,
    method: str,
    path: str,
    body: Any,
) -> None:
    channel = (await make_channel(services, stranger, receiver.url("/in"))).row
    answers = [
        await client.request(method, f"{URL}/{channel_id}{path}", headers=tenant.auth, json=body)
        for channel_id in (channel.id, UNKNOWN, "no-id")
    ]
    assert [answer.status_code for answer in answers] == [404, 404, 404]
    assert len({answer.text for answer in answers}) == 1
    assert receiver.calls == []
    [row] = await rows(services.database, "SELECT name FROM channels")
    assert row["name"] == "On call"


async def test_lists_show_the_own_account_only(
    client: httpx.AsyncClient, tenant: Tenant, stranger: Tenant, database: Database
) -> None:
    await made(client, stranger)
    await give_email(database, stranger, "eve@example.com")
    await client.post(f"{URL}/email/test", headers=stranger.auth)
    assert (await client.get(URL, headers=tenant.auth)).json()["data"] == []
    assert (await client.get(f"{URL}/email/deliveries", headers=tenant.auth)).json()["data"] == []
    assert len((await client.get(f"{URL}/email/deliveries", headers=stranger.auth)).json()["data"]) == 1


ROUTES = [
    ("GET", URL),
    ("POST", URL),
    ("POST", f"{URL}/email/test"),
    ("GET", f"{URL}/email/deliveries"),
    *((method, f"{URL}/{UNKNOWN}{path}") for method, path, _ in BY_ID),
]


@pytest.mark.parametrize(("method", "url"), ROUTES)
async def test_nobody_public_keys_and_other_scopes_are_refused(
    client: httpx.AsyncClient, tenant: Tenant, database: Database, method: str, url: str
) -> None:
    other = await make_key(database, tenant.account_id, scopes=["tests:read", "tests:write", "runs:write"])
    body = BODY if method in ("POST", "PATCH") else None
    answers = [
        await client.request(method, url, headers=headers, json=body)
        for headers in ({}, tenant.public.auth, other.auth)
    ]
    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [
        (401, "missing_api_key"),
        (403, "public_key_refused"),
        (403, "scope_missing"),
    ]


async def test_reader_may_look_and_not_change(
    client: httpx.AsyncClient, tenant: Tenant, database: Database
) -> None:
    reader = await make_key(database, tenant.account_id, scopes=["account:read"])
    channel_id = (await made(client, tenant))["id"]
    for method, url in (("GET", URL), ("GET", f"{URL}/{channel_id}"), ("GET", f"{URL}/email/deliveries")):
        assert (await client.request(method, url, headers=reader.auth)).status_code == 200
    for method, url in (("POST", f"{URL}/{channel_id}/test"), ("DELETE", f"{URL}/{channel_id}")):
        answer = await client.request(method, url, headers=reader.auth)
        assert answer.json()["code"] == "scope_missing"


async def test_secrets_open_in_their_own_row_only(
    client: httpx.AsyncClient, tenant: Tenant, receiver: Receiver, database: Database
) -> None:
    await made(client, tenant, url=receiver.url("/in"))
    await rows(
        database,
        "INSERT INTO channels (account_id, id, name, format, shown_url, sealed_url, sealed_secret) "
        f"SELECT account_id, '{UNKNOWN}', name, format, shown_url, sealed_url, sealed_secret FROM channels",
    )
    answer = await client.post(f"{URL}/{UNKNOWN}/test", headers=tenant.auth)
    assert answer.json()["data"]["state"] == "failed"
    assert receiver.calls == []


class TestNoMailServer:
    """The operator has named none."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return dataclasses.replace(settings, smtp=SmtpSettings())

    async def test_mail_button_says_so(
        self, client: httpx.AsyncClient, tenant: Tenant, database: Database
    ) -> None:
        await give_email(database, tenant, "ada@example.com")
        answer = await client.post(f"{URL}/email/test", headers=tenant.auth)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
        assert "sends no e-mail" in answer.json()["error"]
