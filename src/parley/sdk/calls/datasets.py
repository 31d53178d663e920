"""`/api/v1/custom-agent-evaluations`: datasets, graders, and the results that a pipeline posts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parley.sdk.call import Call, bare, get, given, nothing, segment
from parley.sdk.datasets import (
    Dataset,
    DatasetLine,
    Finalized,
    GradingSettings,
    Owed,
    Posted,
    ShellRun,
)
from parley.sdk.offers import D, Group, Method, Paged
from parley.sdk.paging import Page, shell_page_of

PLANE = "/api/v1/custom-agent-evaluations"
DATASETS, SETTINGS, RUNS = f"{PLANE}/datasets", f"{PLANE}/evaluation-settings", f"{PLANE}/runs"
_BEYOND_WAIT_S = 20.0
"""What an answer may take beyond the wait it was asked for."""


def list_datasets(*, limit: int = 100) -> Call[Page[DatasetLine]]:
    """The account's datasets, newest first."""
    return get(DATASETS, shell_page_of("datasets", DatasetLine), limit=limit)


def get_dataset(dataset_id: str) -> Call[Dataset]:
    """A dataset with its questions."""
    return get(f"{DATASETS}/{segment(dataset_id)}", bare(Dataset))


def create_dataset(fields: Mapping[str, Any]) -> Call[Dataset]:
    """Make a dataset, in the shape of the reference."""
    return Call(method="POST", path=DATASETS, read=bare(Dataset), body=dict(fields))


def replace_dataset(dataset_id: str, fields: Mapping[str, Any]) -> Call[Dataset]:
    """Replace a dataset; a change makes a new version."""
    return Call(
        method="PUT",
        path=f"{DATASETS}/{segment(dataset_id)}",
        read=bare(Dataset),
        body=dict(fields),
        is_repeatable=True,
    )


def delete_dataset(dataset_id: str) -> Call[None]:
    """Delete a dataset."""
    return Call(method="DELETE", path=f"{DATASETS}/{segment(dataset_id)}", read=nothing)


def create_settings(fields: Mapping[str, Any]) -> Call[GradingSettings]:
    """Make a reusable grader."""
    return Call(method="POST", path=SETTINGS, read=bare(GradingSettings), body=dict(fields))


def list_settings(*, limit: int = 100) -> Call[Page[GradingSettings]]:
    """The account's graders, newest first."""
    return get(SETTINGS, shell_page_of("evaluationSettings", GradingSettings), limit=limit)


def start_run(
    dataset_id: str,
    *,
    settings_id: str | None = None,
    split: str | None = None,
    repetitions: int = 1,
    run_source: str | None = None,
    commit: str | None = None,
    branch: str | None = None,
    pull_request: str | None = None,
) -> Call[ShellRun]:
    """Make a run that waits for results. Its cases are frozen here."""
    body = given(
        {
            "datasetId": dataset_id,
            "evaluationSettingsId": settings_id,
            "split": split,
            "repetitions": repetitions,
            "runSource": run_source,
            "commit": commit,
            "branch": branch,
            "pullRequest": pull_request,
        }
    )
    return Call(method="POST", path=RUNS, read=bare(ShellRun), body=body)


def get_run(run_id: str) -> Call[ShellRun]:
    """A run."""
    return get(f"{RUNS}/{segment(run_id)}", bare(ShellRun))


def missing_results(run_id: str) -> Call[Owed]:
    """What a run still waits for."""
    return get(f"{RUNS}/{segment(run_id)}/missing-results", bare(Owed))


def post_results(
    run_id: str, batch_id: str, results: Sequence[Mapping[str, Any]], *, wait_s: int = 0
) -> Call[Posted]:
    """Hand in 1 to 100 results. Each has an idempotency key, so that a repeated batch changes nothing."""
    return Call(
        method="POST",
        path=f"{RUNS}/{segment(run_id)}/results",
        read=bare(Posted),
        params={"wait": wait_s},
        body={"batchId": batch_id, "results": list(results)},
        is_repeatable=True,
        timeout_s=wait_s + _BEYOND_WAIT_S,
    )


def finalize(run_id: str, *, wait_s: int = 60) -> Call[Finalized]:
    """Say that all is in, and wait for scores up to `wait_s` seconds (0..60). May be repeated."""
    return Call(
        method="POST",
        path=f"{RUNS}/{segment(run_id)}/finalize",
        read=bare(Finalized),
        body={"wait": wait_s},
        is_repeatable=True,
        timeout_s=wait_s + _BEYOND_WAIT_S,
    )


class Datasets(Group[D]):
    """`client.datasets`."""

    list = Paged(list_datasets)
    get = Method(get_dataset)
    create = Method(create_dataset)
    replace = Method(replace_dataset)
    delete = Method(delete_dataset)


class Grading(Group[D]):
    """`client.grading`: reusable graders."""

    list = Paged(list_settings)
    create = Method(create_settings)


class DatasetRuns(Group[D]):
    """`client.dataset_runs`: runs that a pipeline fills with results."""

    start = Method(start_run)
    get = Method(get_run)
    missing = Method(missing_results)
    post = Method(post_results)
    finalize = Method(finalize)
