"""A real SMTP server on 127.0.0.1 that keeps what it is given."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from email import message_from_bytes
from email import policy as email_policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword


@dataclass(slots=True)
class MailServer:
    """Answers for addresses and mails may be set; else everything is taken."""

    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    logins: list[tuple[bytes, bytes]] = field(default_factory=list)
    recipient_answer: str = "250 OK"
    mail_answer: str = "250 OK"
    connections: int = 0

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's name
        self, _server: Any, _session: Any, envelope: Any, address: str, _options: Any
    ) -> str:
        """One recipient."""
        if self.recipient_answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return self.recipient_answer

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        """One mail."""
        if self.mail_answer.startswith("250"):
            self.mails.append(message_from_bytes(envelope.content, policy=email_policy.default))
            self.recipients += envelope.rcpt_tos
        return self.mail_answer

    def authenticate(
        self, _server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any
    ) -> AuthResult:
        """Note who signs in; the password is "right"."""
        assert isinstance(data, LoginPassword)
        self.logins.append((data.login, data.password))
        return AuthResult(success=data.password == b"right", handled=False)

    @property
    def subjects(self) -> list[str]:
        """The subjects of the mails, in order."""
        return [mail["Subject"] for mail in self.mails]


@contextlib.asynccontextmanager
async def mail_server(tls: ssl.SSLContext | None = None) -> AsyncIterator[MailServer]:
    """Serve; with `tls` it offers STARTTLS, and lets people sign in under it only."""
    kept = MailServer()
    protocols: list[SMTP] = []

    def connected() -> SMTP:
        kept.connections += 1
        options: dict[str, Any] = {"tls_context": tls, "authenticator": kept.authenticate} if tls else {}
        protocols.append(SMTP(kept, hostname="mail.test", **options))
        return protocols[-1]

    server = await asyncio.get_running_loop().create_server(connected, "127.0.0.1", 0)
    kept.port = server.sockets[0].getsockname()[1]
    try:
        yield kept
    finally:
        server.close()
        for protocol in protocols:
            if protocol.transport is not None:
                protocol.transport.close()
