"""Brings one notification to one reader: the webhook of a channel, or an e-mail address."""

from __future__ import annotations

import logging
from typing import Final

from aiohttp import ClientSession

from parley.engine.ports import Clock
from parley.server.kit.crypto import Keyring, UnsealError
from parley.server.notifications.attempt import Attempt, refused
from parley.server.notifications.claimed import ChannelTarget, Claimed
from parley.server.notifications.mail import Mailer
from parley.server.notifications.secrets import place_of
from parley.server.notifications.webhook import News, WebhookTarget, call_webhook
from parley.server.notifications.words import worded

WEBHOOK_DEADLINE_S: Final = 10.0
"""Whole call of a webhook; what hooks get as well."""

_log = logging.getLogger(__name__)


class Messenger:
    """Makes one attempt. Holds no connection of the database meanwhile."""

    def __init__(
        self, session: ClientSession, mailer: Mailer | None, keyring: Keyring, clock: Clock, public_url: str
    ) -> None:
        self._session = session
        self._mailer = mailer
        self._keyring = keyring
        self._clock = clock
        self._public_url = public_url

    @property
    def sends_mail(self) -> bool:
        """Whether the operator has named a mail server."""
        return self._mailer is not None

    async def attempt(self, claimed: Claimed) -> Attempt:
        """Try once. Whatever goes wrong is an answer, not an error."""
        try:
            return await self._attempt(claimed)
        except UnsealError:
            _log.exception("delivery %s waits for its secret key", claimed.id)
            return Attempt(delivered=False, error="The channel's address could not be opened.")
        except Exception:
            _log.exception("delivery %s broke", claimed.id)
            return Attempt(delivered=False, error="Something went wrong on our side.")

    async def _attempt(self, claimed: Claimed) -> Attempt:
        message = worded(claimed.kind, claimed.facts, self._public_url)
        if claimed.channel is not None:
            news = News(
                id=claimed.notification_id,
                kind=claimed.kind,
                facts=claimed.facts,
                created_at=claimed.created_at,
                message=message,
            )
            target = self._opened(claimed, claimed.channel)
            return await call_webhook(self._session, target, news, self._clock.now_ms(), WEBHOOK_DEADLINE_S)
        if self._mailer is None or claimed.email is None:
            return refused("This service sends no e-mail.")
        return await self._mailer.send(claimed.email, message, claimed.id, claimed.created_at)

    def _opened(self, claimed: Claimed, channel: ChannelTarget) -> WebhookTarget:
        url = self._keyring.open(channel.sealed_url, place_of(claimed.account_id, channel.id, "url"))
        if channel.format == "slack" or channel.sealed_secret is None:
            return WebhookTarget(url, None)
        place = place_of(claimed.account_id, channel.id, "secret")
        return WebhookTarget(url, self._keyring.open(channel.sealed_secret, place))
