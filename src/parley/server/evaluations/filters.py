"""Filters of lists, as columns and their values."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias
from uuid import UUID

from fastapi import Depends, Query

from parley.server.errors import InvalidRequest
from parley.server.evaluations.schemas import State
from parley.server.kit.ids import parse_id
from parley.server.kit.text import is_storable

LONGEST_FILTER = 256
"""Characters of a filter; longer than anything it could find."""

TextFilter: TypeAlias = Annotated[str | None, Query(max_length=LONGEST_FILTER)]


def text_filter(name: str, text: str | None) -> str | None:
    """A filter's text. Raises `InvalidRequest` for one that nothing stored could hold."""
    if text is not None and not is_storable(text):
        raise InvalidRequest.field(name, "must not contain a NUL character")
    return text


def id_filter(name: str, text: str | None) -> UUID | None:
    """A filter's id. Raises `InvalidRequest` for what is no id."""
    if text is None:
        return None
    found = parse_id(text)
    if found is None:
        raise InvalidRequest.field(name, "should be an id (a UUID string)")
    return found


def given(**filters: Any) -> dict[str, Any]:
    """Those filters that were given."""
    return {column: value for column, value in filters.items() if value is not None}


async def _of_evaluations(
    dataset: TextFilter = None,
    suite: TextFilter = None,
    split: TextFilter = None,
    state: Annotated[State | None, Query(description="Only evaluations in this state.")] = None,
    branch: TextFilter = None,
    commit: TextFilter = None,
    pull_request: TextFilter = None,
    run_source: TextFilter = None,
    pinned: Annotated[bool | None, Query(description="Only pinned baselines, or only others.")] = None,
) -> dict[str, Any]:
    return given(
        dataset_id=id_filter("dataset", dataset),
        suite_id=id_filter("suite", suite),
        split=text_filter("split", split),
        state=state,
        branch=text_filter("branch", branch),
        commit=text_filter("commit", commit),
        pull_request=text_filter("pull_request", pull_request),
        run_source=text_filter("run_source", run_source),
        pinned=pinned,
    )


EvaluationFilters: TypeAlias = Annotated[dict[str, Any], Depends(_of_evaluations)]
"""`dataset`, `suite`, `split`, `state`, `branch`, `commit`, `pull_request`, `run_source` and `pinned`."""
