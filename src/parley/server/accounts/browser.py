"""What a browser has to show before its session counts: a cookie of ours, sent from a page of ours.

The cookie holds the tokens of up to `MOST_SESSIONS` sessions, joined by dots; the first one speaks. An empty
first place means that nobody does: the browser is signed out of the account it last used, not of the others.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

from starlette.requests import Request

from parley.server.errors import CrossSiteRefused, SessionEnded

CLIENT_HEADER: Final = "x-parley-client"
"""Has to come with what changes something: no form and no image of a foreign page can send it."""
LINK_LIFETIME: Final = timedelta(minutes=5)
MOST_SESSIONS: Final = 8
"""Accounts one browser is signed in to; a ninth ends the one used longest ago."""
_READS: Final = ("GET", "HEAD")
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


class OpenSession(NamedTuple):
    """A session that is still good, with its account and key as its browser shows them."""

    id: UUID
    sha256: bytes
    account_id: UUID
    account_name: str
    plan: str
    status: str
    key_name: str
    key_shown: str
    scopes: list[str]
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRules:
    """How sessions of browsers are kept. `public_url` is empty when the operator has named none."""

    public_url: str
    lifetime: timedelta

    @property
    def is_secure(self) -> bool:
        """Whether the cookie travels over TLS only."""
        return self.public_url.startswith("https://")

    def cookie_name(self, request: Request) -> str:
        """`__Host-parley` over TLS; else with the port, as browsers do not keep ports apart."""
        return "__Host-parley" if self.is_secure else f"parley-{request.url.port or 80}"

    def tokens(self, request: Request) -> list[str]:
        """The well-formed tokens of the cookie, the one that speaks first; an empty first one is kept."""
        first, *others = request.cookies.get(self.cookie_name(request), "").split(".")
        known = [token for token in others if _TOKEN.fullmatch(token)]
        return [first if _TOKEN.fullmatch(first) else "", *known][:MOST_SESSIONS]

    def speaking(self, request: Request) -> str | None:
        """The token of the session that speaks, once the request has shown where it comes from.

        None without a cookie. Raises `CrossSiteRefused`, and `SessionEnded` when nobody speaks any longer.
        """
        if self.cookie_name(request) not in request.cookies:
            return None
        self.check_origin(request)
        token = self.tokens(request)[0]
        if not token:
            raise SessionEnded
        return token

    def check_origin(self, request: Request) -> None:
        """Raises `CrossSiteRefused` unless a page of ours sends this."""
        changes = request.method not in _READS
        if not is_same_origin(request.headers, self.public_url) or (
            changes and not request.headers.get(CLIENT_HEADER)
        ):
            raise CrossSiteRefused


def is_same_origin(headers: Mapping[str, str], public_url: str) -> bool:
    """Whether `Origin` or `Sec-Fetch-Site` say that a page of this very service sends the request.

    One of them has to say so, and the other must not say otherwise. A proxy in front may take TLS off, so an
    origin is compared by host and port; the public address counts as ours.
    """
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if site is not None and site != "same-origin":
        return False
    if origin is None:
        return site is not None
    # Compared as browsers write it: whatever is not spelt so is nobody's, and nothing has to be parsed.
    ours = {headers.get("host", "").lower(), urlsplit(public_url).netloc.lower()} - {""}
    return origin.lower() in {f"{scheme}://{host}" for scheme in ("http", "https") for host in ours}


def new_secret() -> str:
    """A fresh token of a session or of a link: 256 random bits."""
    return secrets.token_urlsafe(32)


def session_digest(token: str) -> bytes:
    """What is stored of a session's token; no key and no link has the same."""
    return hashlib.sha256(b"parley/session/" + token.encode()).digest()


def link_digest(token: str) -> bytes:
    """What is stored of a sign-in link's token."""
    return hashlib.sha256(b"parley/sign-in-link/" + token.encode()).digest()


def cookie_value(tokens: Sequence[str]) -> str:
    """The tokens as the cookie holds them."""
    return ".".join(tokens[:MOST_SESSIONS])
