"""Rules of remote apps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from sqlalchemy import func
from sqlalchemy.exc import IntegrityError

from parley.server.apps.repository import AppRepository
from parley.server.apps.schemas import AppChange, AppCreate
from parley.server.apps.secrets import seal_key
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import RemoteApp
from parley.server.errors import InvalidRequest, NotFound
from parley.server.kit.crypto import Keyring
from parley.server.kit.ids import new_id, parse_id
from parley.server.outbound.errors import OutboundFault
from parley.server.outbound.guard import OutboundPolicy

_LONGEST_SLUG_NAME: Final = 60
_SLUG_TRIES: Final = 5
"""Two apps of one name get the same four digits once in 65,536 times."""


async def create(
    session: Session, scope: AccountScope, keyring: Keyring, policy: OutboundPolicy, body: AppCreate
) -> RemoteApp:
    """Register an app. Raises `InvalidRequest` for an address that may not be called."""
    _check_address(policy, body.url)
    apps = AppRepository(session, scope)
    for _ in range(_SLUG_TRIES - 1):
        try:
            async with session.begin_nested():
                return await apps.add(_new(scope, keyring, body))
        except IntegrityError:
            continue
    return await apps.add(_new(scope, keyring, body))


async def change(
    session: Session,
    scope: AccountScope,
    keyring: Keyring,
    policy: OutboundPolicy,
    app_id: UUID,
    body: AppChange,
) -> RemoteApp:
    """Change what was sent. Raises `NotFound`, and `InvalidRequest` for a refused address."""
    row = await AppRepository(session, scope).get(app_id, lock=True)
    if row is None:
        raise NotFound
    sent = body.model_fields_set
    if "url" in sent:
        _check_address(policy, body.url)
        row.url = body.url
    if "service_key" in sent:
        row.sealed_service_key = seal_key(keyring, row, body.service_key)
    if "name" in sent:
        row.name = body.name
    if sent & {"url", "service_key"}:
        row.offer, row.checked_at = None, None  # it was another app's, as far as we know
    await session.flush()
    return row


async def delete(session: Session, scope: AccountScope, app_id: UUID) -> None:
    """Delete an app. What it plays for us goes on, what waits for it ends as an error. Raises `NotFound`."""
    apps = AppRepository(session, scope)
    row = await apps.get(app_id, lock=True)
    if row is None:
        raise NotFound
    await apps.delete(row)


async def find(session: Session, scope: AccountScope, reference: str) -> RemoteApp | None:
    """The app a suite's `app` field means: its slug, or its id."""
    apps = AppRepository(session, scope)
    app_id = parse_id(reference)
    return await apps.get(app_id) if app_id is not None else await apps.by_slug(reference)


async def keep_offer(session: Session, scope: AccountScope, app_id: UUID, offer: Mapping[str, Any]) -> None:
    """Note what an app offers. Raises `NotFound` where it was deleted meanwhile."""
    row = await AppRepository(session, scope).get(app_id, lock=True)
    if row is None:
        raise NotFound
    row.offer, row.checked_at = dict(offer), await session.scalar(func.now())
    await session.flush()


def _new(scope: AccountScope, keyring: Keyring, body: AppCreate) -> RemoteApp:
    app_id = new_id()
    row = RemoteApp(
        account_id=scope.account_id, id=app_id, name=body.name, slug=_slug(body.name, app_id), url=body.url
    )
    row.sealed_service_key = seal_key(keyring, row, body.service_key)
    return row


def _slug(name: str, app_id: UUID) -> str:
    words = re.sub(r"[^\w]+", "-", name.lower()).strip("-")[:_LONGEST_SLUG_NAME].strip("-")
    return f"{words or 'app'}:{app_id.hex[-4:]}"


def _check_address(policy: OutboundPolicy, url: str) -> None:
    try:
        target = policy.read(url)
    except OutboundFault as fault:
        raise InvalidRequest.field("url", fault.message) from None
    if target.query:
        raise InvalidRequest.field("url", "must have no query: paths are added to it")
