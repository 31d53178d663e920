"""`/api/v1/agentic-tests` and the runs beneath."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parley.sdk.answers import AgenticTest, AgenticTestLine, Run, RunDetail
from parley.sdk.call import NO_BODY, Call, data_of, get, nothing, once, segment
from parley.sdk.offers import D, Group, Method, Paged, Streamed
from parley.sdk.paging import Page, page_of
from parley.sdk.watching import Stream

TESTS = "/api/v1/agentic-tests"
DIRECT = "/api/v1/generations/agentic-tests"


def list_tests(
    *, search: str | None = None, gateway: str | None = None, limit: int = 100
) -> Call[Page[AgenticTestLine]]:
    """The account's tests, newest first; `search` looks into names, `gateway` is a slug or id."""
    return get(TESTS, page_of(AgenticTestLine), search=search, gateway=gateway, limit=limit)


def get_test(test_id: str) -> Call[AgenticTest]:
    """A whole test."""
    return get(_test(test_id), data_of(AgenticTest))


def create_test(fields: Mapping[str, Any], *, dry_run: bool = False) -> Call[AgenticTest]:
    """Make a test; its fields are in docs/reference/agentic-tests.md. A dry run stores nothing."""
    return Call(
        method="POST",
        path=TESTS,
        read=data_of(AgenticTest),
        params=_dry(dry_run),
        body=dict(fields),
        is_repeatable=dry_run,
    )


def change_test(test_id: str, fields: Mapping[str, Any], *, dry_run: bool = False) -> Call[AgenticTest]:
    """Change only the fields that are given. A dry run stores nothing."""
    return Call(
        method="PATCH",
        path=_test(test_id),
        read=data_of(AgenticTest),
        params=_dry(dry_run),
        body=dict(fields),
        is_repeatable=True,
    )


def delete_test(test_id: str) -> Call[None]:
    """Hide a test at once, and cancel its open runs."""
    return Call(method="DELETE", path=_test(test_id), read=nothing)


def start_run(test_id: str, *, seed: int | None = None, idempotency_key: str | None = None) -> Call[Run]:
    """Start a run. Without an `idempotency_key` each description has one of its own, so that its retries
    start no second run."""
    return Call(
        method="POST",
        path=f"{_test(test_id)}/runs",
        read=data_of(Run),
        body=NO_BODY if seed is None else {"seed": seed},
        headers=once(idempotency_key),
        is_repeatable=True,
    )


def list_runs(test_id: str, *, state: str | None = None, limit: int = 100) -> Call[Page[Run]]:
    """The runs of a test, newest first."""
    return get(f"{_test(test_id)}/runs", page_of(Run), state=state, limit=limit)


def get_run(test_id: str, run_id: str) -> Call[RunDetail]:
    """Everything about a run."""
    return get(_run(test_id, run_id), data_of(RunDetail))


def cancel_run(test_id: str, run_id: str) -> Call[Run]:
    """Cancel a run; one that is over stays as it is."""
    return Call(method="POST", path=f"{_run(test_id, run_id)}/cancel", read=data_of(Run), is_repeatable=True)


def export_run(test_id: str, run_id: str) -> Call[dict[str, Any]]:
    """A run as one self-contained file, in the form of run-export-1.schema.json."""
    return get(f"{_run(test_id, run_id)}/export", dict)


def run_events(test_id: str, run_id: str, *, last_event_id: str | None = None) -> Stream:
    """What a run has told, then what it tells, to its end. Broken connections are resumed."""
    return Stream(path=f"{_run(test_id, run_id)}/events", last_event_id=last_event_id)


def direct_events(fields: Mapping[str, Any]) -> Stream:
    """A conversation of which nothing is stored: the fields of a test, with `model` instead of `name` and
    `gateway`. A broken connection ends it."""
    return Stream(path=DIRECT, method="POST", body=dict(fields), is_kept=False)


class Tests(Group[D]):
    """`client.tests`."""

    list = Paged(list_tests)
    get = Method(get_test)
    create = Method(create_test)
    change = Method(change_test)
    delete = Method(delete_test)


class Runs(Group[D]):
    """`client.runs`."""

    start = Method(start_run)
    list = Paged(list_runs)
    get = Method(get_run)
    cancel = Method(cancel_run)
    export = Method(export_run)
    events = Streamed(run_events)
    direct = Streamed(direct_events)


def _dry(dry_run: bool) -> dict[str, str]:
    return {"dry_run": "true"} if dry_run else {}


def _test(test_id: str) -> str:
    return f"{TESTS}/{segment(test_id)}"


def _run(test_id: str, run_id: str) -> str:
    return f"{_test(test_id)}/runs/{segment(run_id)}"
