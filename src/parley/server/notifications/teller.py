"""Decides what is told after a run, and writes it down for those who deliver."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import Delivery, Notification
from parley.server.kit.ids import new_id
from parley.server.notifications.facts import AboutGate, AboutTest, Facts, NewsKind, facts_of
from parley.server.notifications.policy import Health, RunEnd, Wishes, after
from parley.server.notifications.repository import (
    ChannelRepository,
    DeliveryRepository,
    NotificationRepository,
    addressee_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Readers:
    """Who hears the news of an account, and the account's name as they know it."""

    account: str
    channels: tuple[UUID, ...]
    emails: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.channels or self.emails)


class Teller:
    """Works within the caller's transaction, which holds the test."""

    def __init__(self, *, sends_mail: bool) -> None:
        """Without a mail server nothing is written down for e-mail."""
        self._sends_mail = sends_mail

    async def tell(
        self,
        session: Session,
        scope: AccountScope,
        test: AboutTest,
        wishes: Wishes,
        health: Health,
        end: RunEnd,
    ) -> tuple[Health, bool]:
        """The test's health after one more run, and whether anybody was told of it."""
        now, news = after(health, wishes, end)
        if not news:
            return now, False
        readers = await self._readers(session, scope)
        if not readers:
            return after(health, wishes, end, has_readers=False)[0], False
        for kind in news:
            facts = facts_of(kind, readers.account, test, health, now, end)
            await write_down(session, scope, kind, facts, readers)
        return now, True

    async def tell_of_gate(self, session: Session, scope: AccountScope, gate: AboutGate) -> bool:
        """Tell of a red gate; whether there is anybody to tell."""
        readers = await self._readers(session, scope)
        if readers:
            facts = Facts(account=readers.account, gate=gate)
            await write_down(session, scope, "gate.failed", facts, readers)
        return bool(readers)

    async def _readers(self, session: Session, scope: AccountScope) -> Readers:
        addressee = await addressee_of(session, scope)
        return Readers(
            account=addressee.name,
            channels=tuple(await ChannelRepository(session, scope).enabled()),
            emails=addressee.emails if self._sends_mail else (),
        )


async def write_down(
    session: Session,
    scope: AccountScope,
    kind: NewsKind,
    facts: Facts,
    readers: Readers,
    *,
    attempts: int = 0,
) -> list[Delivery]:
    """Write a notification with a delivery for each reader, due at once.

    Raises IntegrityError if the run was told of in this way before.
    """
    notification = Notification(
        account_id=scope.account_id,
        id=new_id(),
        kind=kind,
        test_id=facts.test.id if facts.test else None,
        run_id=facts.run.id if facts.run else None,
        facts=facts.model_dump(mode="json"),
    )
    await NotificationRepository(session, scope).add(notification)
    shared = {"account_id": scope.account_id, "notification_id": notification.id, "attempts": attempts}
    rows = [Delivery(id=new_id(), channel_id=channel_id, **shared) for channel_id in readers.channels]
    rows += [Delivery(id=new_id(), email=email, **shared) for email in readers.emails]
    deliveries = DeliveryRepository(session, scope)
    for row in rows:
        await deliveries.add(row)
    return rows
