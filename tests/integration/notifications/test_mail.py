"""Mail over a real SMTP server of this machine."""

from __future__ import annotations

import dataclasses
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from parley.server.kit.ids import new_id
from parley.server.notifications.attempt import Attempt
from parley.server.notifications.facts import Facts
from parley.server.notifications.mail import Mailer, MailServer
from parley.server.notifications.words import worded
from tests.integration.notifications import mail_server as served
from tests.integration.outbound.test_tls import write_certificate

AT = datetime(2027, 1, 31, 12, 5, tzinfo=UTC)
MESSAGE = worded("channel.test", Facts(account="Acme"), "")


def server_at(mailbox: served.MailServer) -> MailServer:
    return MailServer(
        host="127.0.0.1", port=mailbox.port, security="none", sender="alerts@parley.example", timeout_s=5
    )


async def send(mailer: Mailer, recipient: str = "ada@example.com") -> Attempt:
    return await mailer.send(recipient, MESSAGE, new_id(), AT)


async def test_mail_arrives(mailbox: served.MailServer) -> None:
    assert await send(Mailer(server_at(mailbox))) == Attempt(delivered=True, status=250)
    [mail] = mailbox.mails
    assert (mail["To"], mail["Subject"]) == ("ada@example.com", "Parley: this is a test message")
    assert mailbox.recipients == ["ada@example.com"]


@pytest.mark.parametrize(("answer", "is_final"), [("550 no such user", True), ("450 later", False)])
async def test_refused_recipient(mailbox: served.MailServer, answer: str, is_final: bool) -> None:
    mailbox.recipient_answer = answer
    attempt = await send(Mailer(server_at(mailbox)))
    assert (attempt.delivered, attempt.status, attempt.is_final) == (False, int(answer[:3]), is_final)
    assert attempt.error == "The mail server refused the recipient."


@pytest.mark.parametrize(("answer", "is_final"), [("554 smells of spam", True), ("451 busy", False)])
async def test_refused_mail(mailbox: served.MailServer, answer: str, is_final: bool) -> None:
    mailbox.mail_answer = answer
    attempt = await send(Mailer(server_at(mailbox)))
    assert (attempt.delivered, attempt.status, attempt.is_final) == (False, int(answer[:3]), is_final)
    assert attempt.error == "The mail server refused the mail."


async def test_server_that_is_away_is_tried_again(unused_tcp_port: int) -> None:
    server = MailServer(
        host="127.0.0.1", port=unused_tcp_port, security="none", sender="alerts@parley.example"
    )
    attempt = await send(Mailer(server))
    assert (attempt.delivered, attempt.is_final) == (False, False)
    assert attempt.error == "The mail server could not be used."


async def test_text_that_is_no_address_reaches_no_server(mailbox: served.MailServer) -> None:
    attempt = await send(Mailer(server_at(mailbox)), "ada@example.com\r\nRCPT TO:<eve@example.com>")
    assert (attempt.is_final, mailbox.connections) == (True, 0)


def test_sender_must_be_an_address() -> None:
    with pytest.raises(ValueError, match="plain e-mail address"):
        MailServer(host="h", port=25, security="none", sender="Parley <alerts@parley.example>\n")


class TestTls:
    """A server that offers STARTTLS, and sign-in under it."""

    @pytest.fixture
    def pem(self, tmp_path: Path) -> Path:
        path = tmp_path / "server.pem"
        write_certificate(path)
        return path

    @pytest.fixture
    async def mailbox(self, pem: Path) -> AsyncIterator[served.MailServer]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        async with served.mail_server(context) as opened:
            yield opened

    def mailer(self, mailbox: served.MailServer, password: str, pem: Path | None) -> Mailer:
        server = dataclasses.replace(
            server_at(mailbox), security="starttls", username="parley", password=password
        )
        context = ssl.create_default_context(cafile=None if pem is None else str(pem))
        context.check_hostname = False  # the certificate is that of a name, and the server has none
        return Mailer(server, context)

    async def test_signs_in_under_tls(self, mailbox: served.MailServer, pem: Path) -> None:
        assert (await send(self.mailer(mailbox, "right", pem))).delivered
        assert mailbox.logins == [(b"parley", b"right")]

    async def test_wrong_password_is_for_the_operator_to_mend(
        self, mailbox: served.MailServer, pem: Path
    ) -> None:
        attempt = await send(self.mailer(mailbox, "wrong", pem))
        assert (attempt.delivered, attempt.is_final, attempt.status) == (False, False, 535)
        assert attempt.error == "The mail server could not be used."

    async def test_certificate_of_nobody_gets_no_password(self, mailbox: served.MailServer) -> None:
        attempt = await send(self.mailer(mailbox, "right", None))
        assert (attempt.delivered, mailbox.logins, mailbox.mails) == (False, [], [])


async def test_without_starttls_nothing_is_sent_in_the_clear(mailbox: served.MailServer) -> None:
    server = dataclasses.replace(server_at(mailbox), security="starttls", username="u", password="p")
    attempt = await send(Mailer(server))
    assert (attempt.delivered, mailbox.logins, mailbox.mails) == (False, [], [])
