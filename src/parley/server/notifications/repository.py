"""SQL of channels, notifications and deliveries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Select, func, select, text

from parley.server.db.database import Database
from parley.server.db.repository import AccountScope, Repository
from parley.server.db.session import Session
from parley.server.db.tables import Account, Channel, Delivery, Notification
from parley.server.kit.paging import Paging, write_cursor
from parley.server.kit.schemas import PageInfo
from parley.server.notifications.attempt import Attempt
from parley.server.notifications.claimed import ChannelTarget, Claimed
from parley.server.notifications.facts import Facts

# Accounts take turns, so that one with many dead addresses does not hold the others up.
_CLAIM = text("""
WITH due AS (
    SELECT account_id, id FROM (
        SELECT account_id, id, next_attempt_at,
               row_number() OVER (PARTITION BY account_id ORDER BY next_attempt_at, id) AS turn
          FROM deliveries WHERE state = 'pending' AND next_attempt_at <= now()
    ) AS in_turn
     ORDER BY turn, next_attempt_at, id LIMIT :limit
), held AS (
    SELECT deliveries.account_id, deliveries.id FROM deliveries JOIN due USING (account_id, id)
     WHERE deliveries.state = 'pending' AND deliveries.next_attempt_at <= now()
       FOR UPDATE OF deliveries SKIP LOCKED
)
UPDATE deliveries SET attempts = attempts + 1, next_attempt_at = now() + make_interval(secs => :lease_s)
  FROM held
 WHERE deliveries.account_id = held.account_id AND deliveries.id = held.id
RETURNING deliveries.account_id, deliveries.id
""")

_CLAIMED = text("""
SELECT deliveries.account_id, deliveries.id, deliveries.attempts, deliveries.email,
       notifications.id AS notification_id, notifications.kind, notifications.facts,
       notifications.created_at, channels.id AS channel_id, channels.format, channels.sealed_url,
       channels.sealed_secret, channels.enabled
  FROM unnest(CAST(:accounts AS uuid[]), CAST(:ids AS uuid[])) AS wanted(account_id, id)
  JOIN deliveries USING (account_id, id)
  JOIN notifications ON notifications.account_id = deliveries.account_id
                    AND notifications.id = deliveries.notification_id
  LEFT JOIN channels ON channels.account_id = deliveries.account_id AND channels.id = deliveries.channel_id
""")

_RECORD = """
UPDATE deliveries SET state = $4, status = $5, error = $6,
       finished_at = CASE WHEN $4 = 'pending' THEN NULL ELSE now() END,
       next_attempt_at = now() + make_interval(secs => $7)
 WHERE account_id = $1 AND id = $2 AND attempts = $3 AND state = 'pending'
"""


class ChannelRepository(Repository[Channel]):
    """The channels of an account."""

    table = Channel

    async def count(self) -> int:
        """How many there are."""
        found: int | None = await self.session.scalar(self.narrow(select(func.count()).select_from(Channel)))
        return found or 0

    async def enabled(self) -> Sequence[UUID]:
        """The channels that want news."""
        statement = self.narrow(select(Channel.id)).where(Channel.enabled)
        return (await self.session.scalars(statement.order_by(Channel.id))).all()


class NotificationRepository(Repository[Notification]):
    """The notifications of an account."""

    table = Notification


@dataclass(frozen=True, slots=True)
class Logged:
    """A delivery with what it delivers."""

    delivery: Delivery
    kind: str
    test_id: UUID | None
    run_id: UUID | None


class DeliveryRepository(Repository[Delivery]):
    """The deliveries of an account."""

    table = Delivery

    async def log(self, channel_id: UUID | None, paging: Paging) -> tuple[Sequence[Logged], PageInfo]:
        """One page of a channel's deliveries, or of those by e-mail, newest first."""
        statement = self._logged().where(
            Delivery.channel_id.is_(None) if channel_id is None else Delivery.channel_id == channel_id
        )
        if paging.before is not None:
            statement = statement.where(Delivery.id < paging.before)
        statement = statement.order_by(Delivery.id.desc()).offset(paging.offset).limit(paging.limit + 1)
        found = [_logged(row) for row in await self.session.execute(statement)]
        lines, has_more = found[: paging.limit], len(found) > paging.limit
        return lines, PageInfo(
            limit=paging.limit,
            offset=paging.offset,
            has_more=has_more,
            next_cursor=write_cursor(lines[-1].delivery.id) if has_more else None,
        )

    async def logged(self, delivery_id: UUID) -> Logged | None:
        """One delivery."""
        row = (await self.session.execute(self._logged().where(Delivery.id == delivery_id))).first()
        return None if row is None else _logged(row)

    def _logged(self) -> Select[Any]:
        statement: Select[Any] = self.narrow(
            select(Delivery, Notification.kind, Notification.test_id, Notification.run_id)
        )
        return statement.join(
            Notification,
            (Notification.account_id == Delivery.account_id) & (Notification.id == Delivery.notification_id),
        )


def _logged(row: Row[Any]) -> Logged:
    return Logged(delivery=row.Delivery, kind=row.kind, test_id=row.test_id, run_id=row.run_id)


@dataclass(frozen=True, slots=True)
class Addressee:
    """The account as mail knows it: its name, and up to two addresses."""

    name: str
    emails: tuple[str, ...]


async def addressee_of(session: Session, scope: AccountScope) -> Addressee:
    """To whom an account's mail goes: its owner, and its contact of alerts if that is somebody else."""
    row = (
        await session.execute(
            select(Account.name, Account.owner_email, Account.alerts_contact).where(
                Account.id == scope.account_id
            )
        )
    ).one()
    emails = (row.owner_email, row.alerts_contact)
    return Addressee(row.name, tuple(dict.fromkeys(email for email in emails if email)))


async def claim(session: Session, limit: int, lease_s: float) -> Sequence[Claimed]:
    """Take up to `limit` due deliveries of all accounts for `lease_s` seconds."""
    rows = (await session.execute(_CLAIM, {"limit": limit, "lease_s": lease_s})).all()
    return await claimed(session, [(row.account_id, row.id) for row in rows])


async def claimed(session: Session, keys: Sequence[tuple[UUID, UUID]]) -> Sequence[Claimed]:
    """Deliveries that the caller holds, with all that an attempt needs."""
    if not keys:
        return []
    values = {"accounts": [key[0] for key in keys], "ids": [key[1] for key in keys]}
    return [_claimed(row) for row in await session.execute(_CLAIMED, values)]


def _claimed(row: Row[Any]) -> Claimed:
    channel = None
    if row.channel_id is not None:
        channel = ChannelTarget(
            id=row.channel_id,
            format=row.format,
            sealed_url=row.sealed_url,
            sealed_secret=row.sealed_secret,
            enabled=row.enabled,
        )
    created_at: datetime = row.created_at
    return Claimed(
        account_id=row.account_id,
        id=row.id,
        attempts=row.attempts,
        email=row.email,
        channel=channel,
        notification_id=row.notification_id,
        kind=row.kind,
        facts=Facts.model_validate(row.facts),
        created_at=created_at,
    )


async def record(database: Database, held: Claimed, attempt: Attempt, wait_s: float | None) -> None:
    """Note how an attempt ended, unless another process has taken the delivery since.

    With `wait_s` it is tried again that many seconds from now, without it has ended.
    """
    state = "delivered" if attempt.delivered else "failed" if wait_s is None else "pending"
    async with database.raw() as connection:
        await connection.execute(
            _RECORD,
            held.account_id,
            held.id,
            held.attempts,
            state,
            attempt.status,
            attempt.error,
            wait_s or 0.0,
        )
