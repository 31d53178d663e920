"""`/api/v1/agentic-tests/file`, `.../schema` and `.../schedule`: what people write tests with."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Query, Request, Response

from parley.server.accounts.authenticator import Caller
from parley.server.accounts.callers import requires
from parley.server.agentic_tests import files, service
from parley.server.agentic_tests.schedule import preview
from parley.server.agentic_tests.schemas import SchedulePreview, TestsFile
from parley.server.db.dependencies import SessionDep
from parley.server.definitions.cron import CronRefused
from parley.server.definitions.openapi import whole_schema
from parley.server.definitions.schemas import Definition
from parley.server.errors import InvalidRequest, NotFound, PublicKeyRefused, ScopeMissing
from parley.server.kit.docs import answers_with
from parley.server.kit.ids import parse_id
from parley.server.kit.requests import room_router
from parley.server.kit.schemas import Reply
from parley.server.kit.text import is_storable

router = room_router("/agentic-tests", "agentic tests")

Reader = Annotated[Caller, requires("tests:read")]
_YAML = "application/yaml"
_LONGEST_CRON = 1_000
"""Longer than any schedule, so that the schedule's own bound is what is told."""


async def _text_body(request: Request) -> str:
    """The body as text. Raises `InvalidRequest`."""
    try:
        text = (await request.body()).decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest.field("", f"is not UTF-8 (byte {error.start})") from None
    if not is_storable(text):
        raise InvalidRequest.field("", "must not contain a NUL character")
    return text


TextBody = Annotated[Any, Depends(_text_body)]


@router.get(
    "/file",
    summary="Write tests as a file",
    response_class=Response,
    responses={
        200: {"content": {_YAML: {"schema": {"type": "string"}}}, "description": "The file."},
        **answers_with(InvalidRequest, PublicKeyRefused, ScopeMissing, NotFound),
    },
)
async def write_file(
    caller: Reader,
    session: SessionDep,
    ids: Annotated[
        list[str],
        Query(
            alias="id", min_length=1, max_length=files.MOST_TESTS, description="A test; may be given again."
        ),
    ],
) -> Response:
    """A YAML file of these tests, in this order, without fields that have their default. `parley tests push`
    takes it, and so does `POST` here."""
    definitions = await service.definitions(session, caller.scope, [_known_id(text) for text in ids])
    disposition = 'attachment; filename="tests.yaml"'
    return Response(
        files.written(definitions), media_type=_YAML, headers={"Content-Disposition": disposition}
    )


@router.post(
    "/file",
    summary="Read tests from a file",
    dependencies=[requires("tests:read")],
    responses=answers_with(InvalidRequest, PublicKeyRefused, ScopeMissing),
    openapi_extra={"requestBody": {"required": True, "content": {_YAML: {"schema": {"type": "string"}}}}},
)
async def read_file(text: TextBody) -> Reply[TestsFile]:
    """The tests of a YAML file as bodies of `POST /agentic-tests`, its defaults filled in. Nothing is stored,
    and fields are not checked: try each body with `?dry_run=true`."""
    return Reply(data=TestsFile(tests=await asyncio.to_thread(files.read, text)))


@router.get(
    "/schema",
    summary="Read what a test may hold",
    dependencies=[requires("tests:read")],
    responses=answers_with(PublicKeyRefused, ScopeMissing),
)
async def read_schema() -> Reply[dict[str, Any]]:
    """The JSON Schema of a test's fields: meanings, bounds and defaults, for forms and editors. Rules between
    fields are checked by `?dry_run=true`."""
    return Reply(data=_schema())


@router.get(
    "/schedule",
    summary="Read a schedule",
    dependencies=[requires("tests:read")],
    responses=answers_with(InvalidRequest, PublicKeyRefused, ScopeMissing),
)
async def read_schedule(
    session: SessionDep,
    cron: Annotated[str, Query(max_length=_LONGEST_CRON, description="Five fields, UTC.")],
) -> Reply[SchedulePreview]:
    """What a schedule means, as a sentence, and its next three times. One that is refused says why."""
    try:
        sentence, upcoming = await preview(session, cron)
    except CronRefused as refused:
        raise InvalidRequest.field("cron", str(refused)) from None
    return Reply(data=SchedulePreview(sentence=sentence, upcoming=upcoming))


@cache
def _schema() -> dict[str, Any]:
    return whole_schema(Definition)


def _known_id(text: str) -> UUID:
    found = parse_id(text)
    if found is None:
        raise NotFound
    return found
