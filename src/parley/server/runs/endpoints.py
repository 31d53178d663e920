"""One run of a test: read, cancel, export, watch. Starting and listing need the test, and stand there."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header, Response

from parley.server.accounts.authenticator import Authenticator, Caller
from parley.server.accounts.callers import requires
from parley.server.conversation.sse import EventStream, StreamRules
from parley.server.db.dependencies import DatabaseDep, SessionDep
from parley.server.errors import InvalidRequest, NotFound, PublicKeyRefused, ScopeMissing
from parley.server.journal.hub import Hub
from parley.server.journal.keep import Journal
from parley.server.kit.clock import utc_now
from parley.server.kit.docs import answers_with
from parley.server.kit.provide import provided
from parley.server.kit.requests import PathId, room_router
from parley.server.kit.schemas import Reply
from parley.server.runs import service
from parley.server.runs.cancel import Canceller
from parley.server.runs.record import summary
from parley.server.runs.repository import RunRepository
from parley.server.runs.schemas import RunDetail, RunExport, RunSummary
from parley.server.runs.watch import Place, RunWatcher

router = room_router("/agentic-tests/{test_id}/runs/{run_id}", "runs")

Reader = Annotated[Caller, requires("tests:read")]
Runner = Annotated[Caller, requires("runs:write")]

_READ = answers_with(PublicKeyRefused, ScopeMissing, NotFound)


@router.get("", summary="Read a run", responses=_READ)
async def read_run(test_id: PathId, run_id: PathId, caller: Reader, session: SessionDep) -> Reply[RunDetail]:
    """The run with its definition, its result, and every message and opinion."""
    return Reply(data=await service.read_detail(session, caller.scope, test_id, run_id))


@router.post(
    "/cancel",
    summary="Cancel a run",
    status_code=202,
    responses={200: {"model": Reply[RunSummary], "description": "The run had ended before."}, **_READ},
)
async def cancel_run(
    test_id: PathId,
    run_id: PathId,
    caller: Runner,
    session: SessionDep,
    canceller: Annotated[Canceller, provided(Canceller)],
    response: Response,
) -> Reply[RunSummary]:
    """Ends a pending run at once, a running one within two seconds; an ended run stays as it is (200)."""
    run, was_open = await canceller.cancel(session, caller.scope, test_id, run_id)
    if not was_open:
        response.status_code = 200
        return Reply(message="The run has already ended.", data=summary(run))
    return Reply(message="The run is being cancelled.", data=summary(run))


@router.get("/export", summary="Export a run", responses=_READ)
async def export_run(
    test_id: PathId, run_id: PathId, caller: Reader, session: SessionDep, response: Response
) -> RunExport:
    """One self-contained JSON file; its schema is published at `/schemas/run-export-1.json`."""
    told = await service.read_detail(session, caller.scope, test_id, run_id)
    response.headers["Content-Disposition"] = f'attachment; filename="parley-run-{run_id}.json"'
    return RunExport(exported_at=utc_now(), run=told)


@router.get(
    "/events",
    summary="Watch a run",
    response_class=EventStream,
    responses={200: {"content": {"text/event-stream": {}}}, **_READ, **answers_with(InvalidRequest)},
)
async def watch_run(
    test_id: PathId,
    run_id: PathId,
    caller: Reader,
    database: DatabaseDep,
    journal: Annotated[Journal, provided(Journal)],
    hub: Annotated[Hub, provided(Hub)],
    authenticator: Annotated[Authenticator, provided(Authenticator)],
    rules: Annotated[StreamRules, provided(StreamRules)],
    last_event_id: Annotated[
        str | None, Header(description="The `id` of the last event you have; the stream goes on after it.")
    ] = None,
) -> EventStream:
    """Server-sent events: what has happened, then live, to the one terminal event."""
    place = Place.read(last_event_id)
    if place is None:
        raise InvalidRequest.field(
            "Last-Event-ID", "is not an id of this stream; leave it out to start again"
        )
    async with database.session() as session:
        run = await RunRepository(session, caller.scope).of_test(test_id, run_id)
    if run is None:
        raise NotFound
    watcher = RunWatcher(
        journal, run.account_id, run.id, run.definition["fields"]["max_turns"], place, rules.ping_s
    )
    return EventStream(watcher.batches(hub), rules, lambda: authenticator.is_current(caller))
