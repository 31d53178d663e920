"""`/api/v1/channels`."""

from __future__ import annotations

from typing import Annotated

from fastapi import Response

from parley.server.accounts.authenticator import Caller
from parley.server.accounts.callers import requires
from parley.server.db.dependencies import DatabaseDep, SessionDep
from parley.server.errors import AccountSuspended, InvalidRequest, NotFound, PublicKeyRefused, ScopeMissing
from parley.server.kit.docs import answers_with
from parley.server.kit.provide import provided
from parley.server.kit.requests import PagingDep, PathId, room_router
from parley.server.kit.schemas import Listing, Reply
from parley.server.notifications import service
from parley.server.notifications.messenger import Messenger
from parley.server.notifications.repository import Logged
from parley.server.notifications.schemas import (
    ChannelAnswer,
    ChannelChange,
    ChannelCreate,
    DeliveryAnswer,
    SavedChannelAnswer,
)
from parley.server.notifications.service import ChannelRules, Saved

router = room_router("/channels", "notifications")

Reader = Annotated[Caller, requires("account:read")]
Writer = Annotated[Caller, requires("account:write")]
RulesDep = Annotated[ChannelRules, provided(ChannelRules)]
MessengerDep = Annotated[Messenger, provided(Messenger)]

_REFUSALS = (PublicKeyRefused, ScopeMissing, AccountSuspended)


@router.get("", summary="List channels", responses=answers_with(*_REFUSALS))
async def list_channels(caller: Reader, session: SessionDep, paging: PagingDep) -> Listing[ChannelAnswer]:
    """The account's channels, newest first."""
    rows, page = await service.listed(session, caller.scope, paging)
    return Listing(data=[ChannelAnswer.model_validate(row) for row in rows], page=page)


@router.post(
    "", status_code=201, summary="Make a channel", responses=answers_with(InvalidRequest, *_REFUSALS)
)
async def create_channel(
    body: ChannelCreate, caller: Writer, session: SessionDep, rules: RulesDep
) -> Reply[SavedChannelAnswer]:
    """Its address is sealed and never shown again; the secret of a JSON channel is shown this once."""
    return _saved(await rules.create(session, caller.scope, body))


# Before the routes with an id in this place, which would take the word for one.
@router.post("/email/test", summary="Try e-mail", responses=answers_with(InvalidRequest, *_REFUSALS))
async def try_email(
    caller: Writer, database: DatabaseDep, messenger: MessengerDep
) -> Reply[list[DeliveryAnswer]]:
    """Sends a test message to the account's e-mail addresses, once, and tells what became of it."""
    lines = await service.try_email(database, caller.scope, messenger)
    return Reply(data=[_delivery(line) for line in lines])


@router.get("/email/deliveries", summary="List deliveries by e-mail", responses=answers_with(*_REFUSALS))
async def list_email_deliveries(
    caller: Reader, session: SessionDep, paging: PagingDep
) -> Listing[DeliveryAnswer]:
    """What was sent to the account's e-mail addresses, newest first."""
    lines, page = await service.log_of(session, caller.scope, None, paging)
    return Listing(data=[_delivery(line) for line in lines], page=page)


@router.get("/{channel_id}", summary="Read a channel", responses=answers_with(*_REFUSALS, NotFound))
async def read_channel(channel_id: PathId, caller: Reader, session: SessionDep) -> Reply[ChannelAnswer]:
    """One channel, without its address and secret."""
    return Reply(data=ChannelAnswer.model_validate(await service.read(session, caller.scope, channel_id)))


@router.patch(
    "/{channel_id}",
    summary="Change a channel",
    responses=answers_with(InvalidRequest, *_REFUSALS, NotFound),
)
async def change_channel(
    channel_id: PathId, body: ChannelChange, caller: Writer, session: SessionDep, rules: RulesDep
) -> Reply[SavedChannelAnswer]:
    """Changes only what is sent. A secret made by it is shown this once."""
    saved = await rules.change(session, caller.scope, channel_id, body)
    await session.refresh(saved.row)
    return _saved(saved)


@router.delete(
    "/{channel_id}",
    status_code=204,
    summary="Delete a channel",
    responses=answers_with(*_REFUSALS, NotFound),
)
async def delete_channel(channel_id: PathId, caller: Writer, session: SessionDep) -> Response:
    """Its log goes with it, and what was not delivered yet never is."""
    await service.delete(session, caller.scope, channel_id)
    return Response(status_code=204)


@router.post("/{channel_id}/test", summary="Try a channel", responses=answers_with(*_REFUSALS, NotFound))
async def try_channel(
    channel_id: PathId, caller: Writer, database: DatabaseDep, messenger: MessengerDep
) -> Reply[DeliveryAnswer]:
    """Sends a test message, once, and tells what became of it. A channel that is off is tried too."""
    line = await service.try_channel(database, caller.scope, messenger, channel_id)
    return Reply(message=line.delivery.error, data=_delivery(line))


@router.get(
    "/{channel_id}/deliveries", summary="List deliveries", responses=answers_with(*_REFUSALS, NotFound)
)
async def list_deliveries(
    channel_id: PathId, caller: Reader, session: SessionDep, paging: PagingDep
) -> Listing[DeliveryAnswer]:
    """What the channel was sent and what became of it, newest first."""
    lines, page = await service.log_of(session, caller.scope, channel_id, paging)
    return Listing(data=[_delivery(line) for line in lines], page=page)


def _saved(saved: Saved) -> Reply[SavedChannelAnswer]:
    shown = ChannelAnswer.model_validate(saved.row)
    return Reply(
        message=None if saved.secret is None else "Keep this secret: it is not shown again.",
        data=SavedChannelAnswer(**shown.model_dump(), secret=saved.secret),
    )


def _delivery(line: Logged) -> DeliveryAnswer:
    row = line.delivery
    return DeliveryAnswer.model_validate(
        {
            "id": row.id,
            "notification_id": row.notification_id,
            "kind": line.kind,
            "test_id": line.test_id,
            "run_id": line.run_id,
            "email": row.email,
            "state": row.state,
            "attempts": row.attempts,
            "status": row.status,
            "error": row.error,
            "created_at": row.created_at,
            "next_attempt_at": row.next_attempt_at if row.state == "pending" else None,
            "finished_at": row.finished_at,
        }
    )
