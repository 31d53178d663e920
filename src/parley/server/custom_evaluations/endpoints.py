"""`/api/v1/custom-agent-evaluations/datasets` and `.../evaluation-settings`."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from fastapi import Response

from parley.server.accounts.authenticator import Caller
from parley.server.accounts.callers import requires
from parley.server.custom_evaluations import datasets, settings
from parley.server.custom_evaluations.answers import (
    DatasetPage,
    DatasetReply,
    Page,
    SettingsPage,
    SettingsReply,
)
from parley.server.custom_evaluations.grader import Judges
from parley.server.custom_evaluations.schemas import DatasetIn, SettingsIn
from parley.server.db.dependencies import SessionDep
from parley.server.errors import (
    InvalidRequest,
    LlmsNotConfigured,
    NotFound,
    PublicKeyRefused,
    ScopeMissing,
)
from parley.server.kit.docs import answers_with
from parley.server.kit.provide import provided
from parley.server.kit.requests import LenientPagingDep, PathId, room_router

PLANE = "/custom-agent-evaluations"
router = room_router(PLANE, "custom agent evaluations")

Reader: TypeAlias = Annotated[Caller, requires("tests:read")]
Writer: TypeAlias = Annotated[Caller, requires("evaluations:write")]
JudgesDep: TypeAlias = Annotated[Judges, provided(Judges)]
CLOSED = (PublicKeyRefused, ScopeMissing)
_DATASET = "/datasets/{dataset_id}"


@router.post(
    "/datasets",
    status_code=201,
    summary="Create a dataset",
    responses=answers_with(InvalidRequest, *CLOSED),
)
async def create_dataset(caller: Writer, session: SessionDep, body: DatasetIn) -> DatasetReply:
    """Makes a dataset. Unknown fields are told in `ignoredFields`."""
    return await datasets.create(session, caller.scope, body)


@router.get("/datasets", summary="List datasets", responses=answers_with(*CLOSED))
async def list_datasets(caller: Reader, session: SessionDep, paging: LenientPagingDep) -> DatasetPage:
    """The account's datasets, newest first, without their questions."""
    rows, page = await datasets.listed(session, caller.scope, paging)
    return DatasetPage(datasets=rows, page=Page.model_validate(page))


@router.get(_DATASET, summary="Get a dataset", responses=answers_with(NotFound, *CLOSED))
async def get_dataset(dataset_id: PathId, caller: Reader, session: SessionDep) -> DatasetReply:
    """The dataset in its newest version."""
    return await datasets.show(session, caller.scope, dataset_id)


@router.put(_DATASET, summary="Replace a dataset", responses=answers_with(InvalidRequest, NotFound, *CLOSED))
async def replace_dataset(
    dataset_id: PathId, caller: Writer, session: SessionDep, body: DatasetIn
) -> DatasetReply:
    """Replaces name and content. A change makes a version; open runs keep the one they began with."""
    return await datasets.replace(session, caller.scope, dataset_id, body)


@router.delete(
    _DATASET, status_code=204, summary="Delete a dataset", responses=answers_with(NotFound, *CLOSED)
)
async def delete_dataset(dataset_id: PathId, caller: Writer, session: SessionDep) -> Response:
    """Deletes a dataset; its runs stay."""
    await datasets.delete(session, caller.scope, dataset_id)
    return Response(status_code=204)


@router.post(
    "/evaluation-settings",
    status_code=201,
    summary="Create evaluation settings",
    responses=answers_with(InvalidRequest, LlmsNotConfigured, *CLOSED),
)
async def create_settings(
    caller: Writer, session: SessionDep, judges: JudgesDep, body: SettingsIn
) -> SettingsReply:
    """Makes a reusable grader. It never changes; make a new one instead."""
    return await settings.create(session, caller.scope, judges, body)


@router.get("/evaluation-settings", summary="List evaluation settings", responses=answers_with(*CLOSED))
async def list_settings(caller: Reader, session: SessionDep, paging: LenientPagingDep) -> SettingsPage:
    """The account's evaluation settings, newest first."""
    rows, page = await settings.listed(session, caller.scope, paging)
    return SettingsPage(evaluation_settings=rows, page=Page.model_validate(page))


@router.get(
    "/evaluation-settings/{settings_id}",
    summary="Get evaluation settings",
    responses=answers_with(NotFound, *CLOSED),
)
async def get_settings(settings_id: PathId, caller: Reader, session: SessionDep) -> SettingsReply:
    """One grader."""
    return await settings.show(session, caller.scope, settings_id)
