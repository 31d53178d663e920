"""Reading requests: strict JSON, ids in paths, paging."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final, TypeAlias
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query as QueryParameter
from fastapi.routing import APIRoute
from pydantic import BeforeValidator, WithJsonSchema

from parley.server.errors import InvalidRequest, NotFound
from parley.server.kit import strictjson
from parley.server.kit.ids import parse_id
from parley.server.kit.paging import MAX_OFFSET, BadCursorError, Paging
from parley.server.kit.schemas import Unreadable

LARGE_BYTES: Final = 200_000
"""Bodies from here on are read beside the loop: one of 10 MB takes a second."""


class StrictRequest(Request):
    """A request whose JSON is read strictly. What is wrong with it is told together with other faults."""

    async def json(self) -> Any:
        """The body's value, or an `Unreadable` that every `Body` turns into a fault."""
        try:
            body = await self.body()
            if len(body) >= LARGE_BYTES:
                return await asyncio.to_thread(strictjson.read, body)
            return strictjson.read(body)
        except strictjson.UnreadableJsonError as fault:
            return Unreadable(fault.problem, fault.field)


class StrictRoute(APIRoute):
    """A route that reads its body strictly."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        # FastAPI cannot document a stream's route without a status.
        options["status_code"] = options.get("status_code") or 200
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        """Hand the route a `StrictRequest`."""
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return strict


def room_router(prefix: str, tag: str) -> APIRouter:
    """The router of a room: strict bodies under `/api/v1` and the room's prefix."""
    return APIRouter(
        prefix=f"/api/v1{prefix}", tags=[tag], route_class=StrictRoute, strict_content_type=False
    )


def _path_id(value: Any) -> UUID:
    found = parse_id(value) if isinstance(value, str) else None
    if found is None:
        raise NotFound
    return found


PathId: TypeAlias = Annotated[
    UUID, BeforeValidator(_path_id), WithJsonSchema({"type": "string", "format": "uuid"})
]
"""An id in a path; anything that is no id is a 404 like an unknown one."""


def _unknown(request: Request) -> list[str]:
    """Query parameters that the route of a request does not take."""
    if not request.query_params:
        return []
    taken = {
        parameter.alias
        for parameter in get_flat_params(request.scope["route"].dependant)
        if isinstance(parameter.field_info, QueryParameter)
    }
    return sorted(set(request.query_params) - taken)


async def _paging(
    limit: Annotated[
        int | None, Query(description="Rows on the page, clamped to 1..100; default 50.")
    ] = None,
    offset: Annotated[
        int | None, Query(description=f"Rows to skip, up to {MAX_OFFSET}; use `cursor` for deep pages.")
    ] = None,
    cursor: Annotated[
        str | None, Query(max_length=100, description="`next_cursor` of the page before; wins over `offset`.")
    ] = None,
) -> Paging:
    if not cursor and offset is not None and offset > MAX_OFFSET:
        raise InvalidRequest.field("offset", f"is over {MAX_OFFSET}; use cursor for deep pages")
    try:
        return Paging.asked(limit, offset, cursor)
    except BadCursorError:
        raise InvalidRequest.field("cursor", "is not a cursor of ours; leave it out to start again") from None


async def _strict_paging(request: Request, paging: Annotated[Paging, Depends(_paging)]) -> Paging:
    unknown = _unknown(request)
    if unknown:
        # A filter that is mistyped must not list everything.
        raise InvalidRequest.faults([(name, "is no parameter of this list") for name in unknown])
    return paging


LenientPagingDep: TypeAlias = Annotated[Paging, Depends(_paging)]
"""`limit`, `offset` and `cursor` of a list that lets other parameters pass, as the shell plane does."""
PagingDep: TypeAlias = Annotated[Paging, Depends(_strict_paging)]
"""`limit`, `offset` and `cursor` of a list; parameters that it does not take are 400."""
