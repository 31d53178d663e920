"""Short ways to make readers of news, and to look at what they were sent."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from parley.server.db.database import Database
from parley.server.notifications.deliver import Deliverer
from parley.server.notifications.schemas import ChannelCreate
from parley.server.notifications.service import ChannelRules, Saved
from parley.server.notifications.teller import Teller
from parley.server.outbound.guard import OutboundPolicy
from parley.server.wiring import Services
from parley.server.worker.reactions import Reactions
from tests.factories.accounts import Tenant
from tests.factories.agentic_tests import make_agentic_test, make_gateway


async def rows(database: Database, statement: str, *values: Any) -> list[dict[str, Any]]:
    """Rows straight from the database."""
    async with database.raw() as connection:
        return [dict(row) for row in await connection.fetch(statement, *values)]


async def make_test(database: Database, tenant: Tenant, **fields: Any) -> UUID:
    """A test."""
    gateway = await make_gateway(database, tenant.scope)
    return await make_agentic_test(database, tenant.scope, gateway.slug, **fields)


async def make_channel(services: Services, tenant: Tenant, url: str, **fields: Any) -> Saved:
    """A channel, also one whose address is refused now: it was saved while it was public."""
    rules = ChannelRules(services.keyring, OutboundPolicy.of(["127.0.0.0/8"]))
    body = ChannelCreate.model_validate({"name": "On call", "url": url} | fields)
    async with services.database.session() as session:
        return await rules.create(session, tenant.scope, body)


async def give_email(
    database: Database, tenant: Tenant, owner: str | None, contact: str | None = None
) -> None:
    """Where an account's mail goes."""
    await rows(
        database,
        "UPDATE accounts SET owner_email = $2, alerts_contact = $3 WHERE id = $1",
        tenant.account_id,
        owner,
        contact,
    )


def reactions_of(services: Services) -> Reactions:
    """Reactions when they are told to."""
    return Reactions(services.database, Teller(sends_mail=services.messenger.sends_mail), 0.01)


def deliverer_of(services: Services) -> Deliverer:
    """Deliveries when it is told to."""
    return Deliverer(services.database, services.messenger, 0.01)


async def delivered_by(deliverer: Deliverer) -> int:
    """Deliver what is due, to the last; how many attempts that took."""
    attempts = 0
    while begun := await deliverer.once():
        attempts += begun
        await deliverer.drain()
    return attempts


async def make_due(database: Database) -> None:
    """Hold the clock still no longer: what waits is due."""
    await rows(database, "UPDATE deliveries SET next_attempt_at = now() WHERE state = 'pending'")


async def deliveries(database: Database) -> list[dict[str, Any]]:
    """All of them, with the seconds until they are due."""
    return await rows(
        database,
        "SELECT *, extract(epoch FROM next_attempt_at - now())::float8 AS due_in_s "
        "FROM deliveries ORDER BY id",
    )


async def kinds(database: Database) -> list[str]:
    """What was told, in order."""
    return [row["kind"] for row in await rows(database, "SELECT kind FROM notifications ORDER BY id")]
