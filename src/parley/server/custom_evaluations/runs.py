"""Runs: the evaluation of a dataset, its cases frozen, waiting for results."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

from parley.server.custom_evaluations import datasets, settings
from parley.server.custom_evaluations.answers import Owed, RunReply
from parley.server.custom_evaluations.cases import criteria_of, frozen, splits_of
from parley.server.custom_evaluations.grader import Judges, grading_of
from parley.server.custom_evaluations.lenient import ignored
from parley.server.custom_evaluations.schemas import RunIn
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import Evaluation
from parley.server.errors import InvalidRequest, NotFound
from parley.server.evaluations import read, results
from parley.server.evaluations.begin import begin
from parley.server.evaluations.figures import StatisticsReply
from parley.server.evaluations.new import NewEvaluation
from parley.server.evaluations.schemas import EvaluationLine
from parley.server.evaluations.shell import in_camel_case
from parley.server.kit.ids import new_id
from parley.server.kit.paging import Paging
from parley.server.kit.schemas import PageInfo

_LISTED_SPLITS = 20
"""Splits that a refusal names."""


async def start(session: Session, scope: AccountScope, judges: Judges, body: RunIn) -> RunReply:
    """A run whose cases can change no more. Raises `InvalidRequest` for what it names and there is not."""
    dataset, content = await _named("datasetId", datasets.newest(session, scope, body.dataset_id))
    grader: Mapping[str, Any] = {}
    if body.evaluation_settings_id is not None:
        asked = settings.require(session, scope, body.evaluation_settings_id)
        grader = (await _named("evaluationSettingsId", asked)).content
    grading = grading_of(grader, criteria_of(content), judges.facts(grader.get("judge", {})))
    cases = frozen(content, body.split)
    if not cases:
        raise InvalidRequest.field("split", _no_split(splits_of(content)))
    new = NewEvaluation(
        id=new_id(),
        dataset_id=dataset.id,
        name=dataset.name,
        version=dataset.version,
        cases=cases,
        grading=grading,
        pass_rating=Decimal(str(grading["pass_rating"])),
        settings_id=body.evaluation_settings_id,
        split=body.split,
        repetitions=body.repetitions,
        run_source=body.run_source,
        commit=body.commit,
        branch=body.branch,
        pull_request=None if body.pull_request is None else str(body.pull_request),
        options=body.kept(),
    )
    row = await begin(session, scope, new)
    await session.refresh(row)
    told = await read.live_statistics(session, scope, row)
    return reply(row, told).model_copy(update={"ignored_fields": ignored(body)})


async def require(session: Session, scope: AccountScope, run_id: UUID) -> Evaluation:
    """The evaluation of a dataset under this id. Raises `NotFound`, for those of suites too."""
    row = await read.require(session, scope, run_id)
    if row.dataset_id is None:
        raise NotFound
    return row


async def show(session: Session, scope: AccountScope, run_id: UUID) -> RunReply:
    """The run as it stands. Raises `NotFound`."""
    row = await require(session, scope, run_id)
    return reply(row, await read.live_statistics(session, scope, row))


async def listed(
    session: Session, scope: AccountScope, filters: Mapping[str, Any], paging: Paging
) -> tuple[list[RunReply], PageInfo]:
    """One page, newest first. `filters` are columns of evaluations and their values."""
    lines, page = await read.listed(session, scope, filters, paging)
    return [reply(line, line.statistics) for line in lines], page


async def owed(session: Session, scope: AccountScope, row: Evaluation) -> list[Owed]:
    """What a run still waits for, in the order of the cases."""
    return [
        Owed(case_id=place.case_id, question_index=place.index, run_number=place.repetition)
        for place in await results.missing(session, scope, row)
    ]


def reply(row: Evaluation | EvaluationLine, statistics: StatisticsReply | None) -> RunReply:
    """A run as it is told."""
    same = (
        "id", "name", "split", "repetitions", "run_source", "commit", "branch", "pull_request", "pass_rating",
        "created_at", "completed_at", "expires_at", "dataset_id",
    )  # fmt: skip
    values: dict[str, Any] = {name: getattr(row, name) for name in same}
    return RunReply(
        **values,
        run_id=row.id,
        dataset_version=row.version,
        status=row.state,
        evaluation_settings_id=row.settings_id,
        baseline_run_id=row.baseline_id,
        live_statistics=None if statistics is None else statistics_told(statistics),
    )


def statistics_told(statistics: StatisticsReply) -> dict[str, Any]:
    """Statistics in the names of this plane."""
    told: dict[str, Any] = in_camel_case(statistics.model_dump(mode="json"))
    return told


async def _named(field: str, asked: Any) -> Any:
    """What `asked` gives; that there is no such thing is a fault of the body, not of the address."""
    try:
        return await asked
    except NotFound:
        raise InvalidRequest.field(field, "names nothing in this account") from None


def _no_split(known: list[str]) -> str:
    if not known:
        return "is unknown: no question of this dataset is in a split"
    more = f" and {len(known) - _LISTED_SPLITS} more" if len(known) > _LISTED_SPLITS else ""
    return f"is unknown; this dataset has {', '.join(known[:_LISTED_SPLITS])}{more}"
