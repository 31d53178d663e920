"""What a run still waits for, as cases to answer. A fresh run waits for all of them."""

from __future__ import annotations

from parley.sdk.async_client import AsyncClient
from parley.sdk.datasets import DatasetLine, OwedResult, Question, ShellRun
from parley.sdk.errors import ParleyError
from parley.sdk.evaluating.case import Case
from parley.sdk.naming import is_id, the_one


class DatasetChanged(ParleyError):
    """The dataset is no longer what the run was started with, so that it cannot be gone on with."""


async def dataset_id_of(client: AsyncClient, reference: str) -> str:
    """The id of a dataset that is named by id or name."""
    if is_id(reference):
        return reference
    found: list[DatasetLine] = [line async for line in client.datasets.list()]
    return the_one("dataset", reference, found).id


async def cases_owed(client: AsyncClient, run: ShellRun) -> list[Case]:
    """The cases that have no result yet. Raises `DatasetChanged`."""
    owed = await client.dataset_runs.missing(run.run_id)
    dataset = await client.datasets.get(run.dataset_id)
    if run.dataset_version is not None and run.dataset_version != dataset.version:
        raise DatasetChanged(
            f"Run {run.run_id} was started with version {run.dataset_version} of {dataset.name!r}, which is "
            f"at version {dataset.version} now; start a new run."
        )
    questions = {one.id: one for one in dataset.questions}
    for one in owed.missing:
        if one.case_id not in questions:
            raise DatasetChanged(f"The dataset {dataset.name!r} no longer has the case {one.case_id!r}.")
    return [_case(one, questions[one.case_id]) for one in owed.missing]


def _case(owed: OwedResult, question: Question) -> Case:
    return Case(
        id=owed.case_id,
        index=owed.question_index,
        run_number=owed.run_number,
        query=question.main_question.query,
        follow_ups=tuple(one.query for one in question.follow_up_questions),
    )
