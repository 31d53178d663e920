"""The webhook of a channel: one guarded call, without redirects, whose status alone counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from aiohttp import ClientSession

from parley.server.kit import strictjson
from parley.server.kit.clock import rfc3339
from parley.server.kit.signing import message_headers
from parley.server.notifications.attempt import Attempt, refused
from parley.server.notifications.facts import Facts, NewsKind
from parley.server.notifications.words import Message, slack_text
from parley.server.outbound.errors import BadAddress, OutboundFault
from parley.server.outbound.fetch import Answer, call_address

GONE: Final = 410
_MOST_ANSWER_BYTES = 1_000
"""Read so that a well-meaning receiver is not cut off; looked at by nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What is to be said, and what it is about."""

    id: UUID
    kind: NewsKind
    facts: Facts
    created_at: datetime
    message: Message


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """Where a channel's messages go. Without a secret they are in Slack's form, and not signed."""

    url: str = field(repr=False)
    secret: str | None = field(repr=False)


async def call_webhook(
    session: ClientSession, target: WebhookTarget, news: News, now_ms: int, deadline_s: float
) -> Attempt:
    """Send `news` once. The same news has the same `webhook-id` at every try."""
    body = strictjson.write(slack_body(news) if target.secret is None else json_body(news)).encode()
    headers = {"Content-Type": "application/json", "User-Agent": "Parley-Notifications/1"}
    if target.secret is not None:
        headers |= message_headers(target.secret, f"msg_{news.id.hex}", now_ms // 1000, body)
    try:
        answer = await call_address(
            session,
            "POST",
            target.url,
            headers=headers,
            body=body,
            deadline_s=deadline_s,
            max_body_bytes=_MOST_ANSWER_BYTES,
        )
    except BadAddress as fault:
        return refused(fault.message)
    except OutboundFault as fault:
        return Attempt(delivered=False, error=fault.message)
    return _read(answer)


def slack_body(news: News) -> dict[str, Any]:
    """What Slack's incoming webhooks, and those of others that copy them, show as plain text."""
    return {"text": slack_text(news.message), "mrkdwn": False, "unfurl_links": False, "unfurl_media": False}


def json_body(news: News) -> dict[str, Any]:
    """The form for programs."""
    return {
        "type": news.kind,
        "timestamp": rfc3339(news.created_at),
        "text": news.message.text,
        "url": news.message.url,
        "data": news.facts.model_dump(mode="json"),
    }


def _read(answer: Answer) -> Attempt:
    if 200 <= answer.status <= 299:
        return Attempt(delivered=True, status=answer.status)
    if answer.status == GONE:
        return refused("The address says that it is gone for good (status 410).", GONE)
    return Attempt(
        delivered=False,
        status=answer.status,
        error=f"The address answered with status {answer.status}.",
        wait_s=_seconds(answer.headers.get("retry-after", "")),
    )


def _seconds(retry_after: str) -> float | None:
    return float(retry_after) if retry_after.isascii() and retry_after.isdigit() else None
