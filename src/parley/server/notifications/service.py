"""Rules of channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from sqlalchemy import func, text

from parley.server.accounts.lock import lock_account
from parley.server.db.database import Database
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import Channel, Delivery
from parley.server.errors import InvalidRequest, NotFound
from parley.server.kit.crypto import Keyring
from parley.server.kit.ids import new_id
from parley.server.kit.paging import Paging
from parley.server.kit.schemas import PageInfo
from parley.server.kit.signing import new_secret
from parley.server.notifications.deliver import LEASE_S, deliver
from parley.server.notifications.facts import Facts
from parley.server.notifications.messenger import Messenger
from parley.server.notifications.repository import (
    ChannelRepository,
    DeliveryRepository,
    Logged,
    addressee_of,
    claimed,
)
from parley.server.notifications.schemas import ChannelChange, ChannelCreate
from parley.server.notifications.secrets import place_of
from parley.server.notifications.teller import Readers, write_down
from parley.server.outbound.address import Target
from parley.server.outbound.errors import OutboundFault
from parley.server.outbound.guard import OutboundPolicy

MOST_CHANNELS: Final = 20
"""Channels of an account: each is a call for each piece of news (our choice)."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A channel as it was saved, with its secret where that was just made."""

    row: Channel
    secret: str | None = field(repr=False)


class ChannelRules:
    """Makes and changes channels."""

    def __init__(self, keyring: Keyring, policy: OutboundPolicy) -> None:
        self._keyring = keyring
        self._policy = policy

    async def create(self, session: Session, scope: AccountScope, body: ChannelCreate) -> Saved:
        """Make a channel. Raises `InvalidRequest` for a refused address, and for one channel too many."""
        await lock_account(session, scope.account_id)
        channels = ChannelRepository(session, scope)
        if await channels.count() >= MOST_CHANNELS:
            raise InvalidRequest(f"An account has at most {MOST_CHANNELS} channels; delete one first.")
        row = Channel(
            account_id=scope.account_id,
            id=new_id(),
            name=body.name,
            format=body.format,
            enabled=body.enabled,
        )
        self._put_url(row, body.url)
        secret = self._put_secret(row) if row.format == "json" else None
        return Saved(await channels.add(row), secret)

    async def change(
        self, session: Session, scope: AccountScope, channel_id: UUID, body: ChannelChange
    ) -> Saved:
        """Change what was sent. Raises `NotFound`, and `InvalidRequest` for a refused address.

        A channel that becomes JSON gets a secret; one that becomes Slack's loses it.
        """
        row = await ChannelRepository(session, scope).get(channel_id, lock=True)
        if row is None:
            raise NotFound
        sent = body.model_fields_set
        for name in sent & {"name", "format", "enabled"}:
            setattr(row, name, getattr(body, name))
        if "url" in sent:
            self._put_url(row, body.url)
        secret = None
        if row.format != "json":
            row.sealed_secret = None
        elif row.sealed_secret is None or body.roll_secret:
            secret = self._put_secret(row)
        await session.flush()
        return Saved(row, secret)

    def _put_url(self, row: Channel, url: str) -> None:
        try:
            target = self._policy.read(url)
        except OutboundFault as fault:
            raise InvalidRequest.field("url", fault.message) from None
        row.sealed_url = self._keyring.seal(url, place_of(row.account_id, row.id, "url"))
        row.shown_url = _shown(target)

    def _put_secret(self, row: Channel) -> str:
        secret = new_secret()
        row.sealed_secret = self._keyring.seal(secret, place_of(row.account_id, row.id, "secret"))
        return secret


async def read(session: Session, scope: AccountScope, channel_id: UUID) -> Channel:
    """One channel. Raises `NotFound`."""
    row = await ChannelRepository(session, scope).get(channel_id)
    if row is None:
        raise NotFound
    return row


async def listed(session: Session, scope: AccountScope, paging: Paging) -> tuple[Sequence[Channel], PageInfo]:
    """One page of the account's channels."""
    channels = ChannelRepository(session, scope)
    return await channels.page(channels.rows(), paging)


async def delete(session: Session, scope: AccountScope, channel_id: UUID) -> None:
    """Delete a channel with its log; what was not delivered never will be. Raises `NotFound`."""
    await ChannelRepository(session, scope).delete(await read(session, scope, channel_id))


async def log_of(
    session: Session, scope: AccountScope, channel_id: UUID | None, paging: Paging
) -> tuple[Sequence[Logged], PageInfo]:
    """What a channel was sent, or e-mail without one. Raises `NotFound`."""
    if channel_id is not None:
        await read(session, scope, channel_id)
    return await DeliveryRepository(session, scope).log(channel_id, paging)


async def try_channel(
    database: Database, scope: AccountScope, messenger: Messenger, channel_id: UUID
) -> Logged:
    """Send a test message to a channel, enabled or not, and tell what became of it. Raises `NotFound`."""
    async with database.session() as session:
        await read(session, scope, channel_id)
        account = (await addressee_of(session, scope)).name
        rows = await _write_test(session, scope, Readers(account=account, channels=(channel_id,), emails=()))
    [tried] = await _try(database, scope, messenger, rows)
    return tried


async def try_email(database: Database, scope: AccountScope, messenger: Messenger) -> Sequence[Logged]:
    """The same for the account's e-mail addresses.

    Raises `InvalidRequest` if the service sends no e-mail, or the account has no address.
    """
    if not messenger.sends_mail:
        raise InvalidRequest("This service sends no e-mail; its operator may name a mail server.")
    async with database.session() as session:
        addressee = await addressee_of(session, scope)
        if not addressee.emails:
            raise InvalidRequest("The account has no e-mail address; set one with PUT /api/v1/account.")
        readers = Readers(account=addressee.name, channels=(), emails=addressee.emails)
        rows = await _write_test(session, scope, readers)
    return await _try(database, scope, messenger, rows)


async def _write_test(session: Session, scope: AccountScope, readers: Readers) -> list[Delivery]:
    """Test messages, held by this process from the beginning."""
    rows = await write_down(
        session, scope, "channel.test", Facts(account=readers.account), readers, attempts=1
    )
    for row in rows:
        row.next_attempt_at = func.now() + text(f"interval '{LEASE_S:g} seconds'")
    await session.flush()
    return rows


async def _try(
    database: Database, scope: AccountScope, messenger: Messenger, rows: Sequence[Delivery]
) -> Sequence[Logged]:
    async with database.session() as session:
        held = await claimed(session, [(row.account_id, row.id) for row in rows])
    for one in held:
        await deliver(database, messenger, one, is_repeated=False)
    async with database.session() as session:
        deliveries = DeliveryRepository(session, scope)
        found = [await deliveries.logged(row.id) for row in rows]
    if None in found:
        raise NotFound  # the channel was deleted meanwhile
    return [line for line in found if line is not None]


def _shown(target: Target) -> str:
    """Enough to recognise an address by: what follows the host may be what keeps it secret."""
    whole = target.url
    origin = whole[: len(whole) - len(target.path) - (len(target.query) + 1 if target.query else 0)]
    return origin if target.path == "/" and not target.query else f"{origin}/..."
