"""Fixtures of this folder."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator

import pytest

from parley.server.config import ApiSettings, OutboundSettings, Settings, SmtpSettings
from tests.integration.notifications.mail_server import MailServer, mail_server
from tests.receivers import Receiver, receiving
from tests.stage import hurried
from tests.stage import stage as stage


@pytest.fixture
async def mailbox() -> AsyncIterator[MailServer]:
    """The operator's mail server."""
    async with mail_server() as opened:
        yield opened


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """The customer's server."""
    async with receiving() as opened:
        yield opened


@pytest.fixture
def settings(settings: Settings, mailbox: MailServer) -> Settings:
    """127.0.0.1 may be called and 127.0.0.2 may not; mail goes to the mailbox."""
    return dataclasses.replace(
        settings,
        api=ApiSettings(port=0, public_url="https://parley.example"),
        outbound=OutboundSettings(allowed_networks=("127.0.0.1/32",)),
        smtp=SmtpSettings(
            host="127.0.0.1", port=mailbox.port, security="none", sender="alerts@parley.example", timeout_s=5
        ),
    )


@pytest.fixture
def stage_settings(settings: Settings) -> Settings:
    """The same with short waits, and links all the same."""
    short = hurried(settings)
    api = short.api.model_copy(update={"public_url": "https://parley.example"})
    return dataclasses.replace(short, api=api)
