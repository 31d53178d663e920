"""Plain-text e-mail over the operator's SMTP server."""

from __future__ import annotations

import asyncio
import logging
import ssl
from dataclasses import dataclass, field
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from email.utils import format_datetime
from typing import Literal, TypeAlias
from uuid import UUID

import aiosmtplib

from parley.server.notifications.attempt import Attempt, refused
from parley.server.notifications.words import Message

Security: TypeAlias = Literal["starttls", "tls", "none"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """Where mail is handed over, and from whom it comes. `timeout_s` bounds the whole hand-over."""

    host: str
    port: int
    security: Security
    sender: str
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    timeout_s: float = 20.0

    def __post_init__(self) -> None:
        """Raises ValueError for a sender that is no plain address."""
        _address("Parley", self.sender)


class Mailer:
    """Hands mails over, a connection for each: they are rare."""

    def __init__(self, server: MailServer, tls: ssl.SSLContext | None = None) -> None:
        self._server = server
        self._tls = tls

    async def send(self, recipient: str, message: Message, delivery_id: UUID, at: datetime) -> Attempt:
        """Send one mail once. The same delivery has the same `Message-ID` at every try."""
        try:
            mail = composed(self._server.sender, recipient, message, delivery_id, at)
        except ValueError:
            return refused("The e-mail address cannot be written to.")
        try:
            async with asyncio.timeout(self._server.timeout_s):
                await self._hand_over(mail, recipient)
        except (aiosmtplib.SMTPException, OSError, TimeoutError, UnicodeError) as fault:
            return _failed(fault)
        return Attempt(delivered=True, status=250)

    async def _hand_over(self, mail: EmailMessage, recipient: str) -> None:
        server = self._server
        client = aiosmtplib.SMTP(
            hostname=server.host,
            port=server.port,
            username=server.username,
            password=server.password,
            local_hostname=server.sender.rpartition("@")[2],
            timeout=server.timeout_s,
            use_tls=server.security == "tls",
            # Asked for, it has to be there: a password never goes out in the clear instead.
            start_tls=server.security == "starttls",
            tls_context=self._tls,
        )
        async with client:
            await client.send_message(mail, sender=server.sender, recipients=[recipient])


def composed(sender: str, recipient: str, message: Message, delivery_id: UUID, at: datetime) -> EmailMessage:
    """The mail. Raises ValueError for addresses that are none."""
    mail = EmailMessage(policy=SMTP_POLICY)
    mail["From"] = _address("Parley", sender)
    mail["To"] = _address("", recipient)
    mail["Subject"] = message.title
    mail["Date"] = format_datetime(at)
    mail["Message-ID"] = f"<{delivery_id}@{sender.rpartition('@')[2]}>"
    # No out-of-office note comes back (RFC 3834).
    mail["Auto-Submitted"] = "auto-generated"
    # Seven bits pass every server.
    mail.set_content(message.text + "\n", cte="quoted-printable")
    return mail


def _address(name: str, address: str) -> Address:
    user, at_sign, domain = address.rpartition("@")
    if not at_sign or not user or not domain or any(c.isspace() or not c.isprintable() for c in address):
        raise ValueError(f"{address!r} is not a plain e-mail address")
    try:
        return Address(name, user, domain)
    except Exception as fault:
        raise ValueError(f"{address!r} is not a plain e-mail address") from fault


def _failed(fault: Exception) -> Attempt:
    if isinstance(fault, aiosmtplib.SMTPRecipientsRefused):
        code = fault.recipients[0].code
        return Attempt(
            delivered=False,
            status=code,
            error="The mail server refused the recipient.",
            is_final=code >= 500,
        )
    if isinstance(fault, aiosmtplib.SMTPDataError):
        return Attempt(
            delivered=False,
            status=fault.code,
            error="The mail server refused the mail.",
            is_final=fault.code >= 500,
        )
    # Everything else is between the operator and their server, and may be mended.
    _log.warning("a mail could not be handed over: %s: %s", type(fault).__name__, fault)
    status = fault.code if isinstance(fault, aiosmtplib.SMTPResponseException) else None
    return Attempt(delivered=False, status=status, error="The mail server could not be used.")
