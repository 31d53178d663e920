"""Sending a finished run to the service, where it is compared, gated and looked at like any evaluation."""

from __future__ import annotations

import os
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from parley.engine.script.record import RunRecord
from parley.sdk.async_driver import AsyncDriver
from parley.sdk.call import Call, data_of
from parley.sdk.ci import origin
from parley.sdk.connection import find_connection
from parley.sdk.retries import RetryPolicy

RUNS_PATH: Final = "/api/v1/evals/runs"
TIMEOUT_S: Final = 120.0
"""The service works out every check again before it answers."""


class UploadedRun(BaseModel):
    """Where a run was kept."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    evaluation_id: str = Field(alias="evaluationId")
    suite_id: str = Field(alias="suiteId")
    state: str


async def upload_run(run: RunRecord, url: str | None = None, api_key: str | None = None) -> UploadedRun:
    """Send `run`, by a key with the scope `evaluations:write`; sent again, it is kept once.

    What is private to the owner stays here. Raises `ParleyError`; a run that does not follow from its own
    observations is refused.
    """
    connection = find_connection(url, api_key)
    driver = AsyncDriver(connection, timeout_s=TIMEOUT_S, retries=RetryPolicy())
    try:
        return await driver.send(upload_call(run))
    finally:
        await driver.close()


def upload_call(run: RunRecord) -> Call[UploadedRun]:
    """The call that keeps `run`; branch and pull request are a pipeline's."""
    source = origin(os.environ)
    told = {"branch": source.branch, "pullRequest": source.pull_request}
    return Call(
        method="POST",
        path=RUNS_PATH,
        read=data_of(UploadedRun),
        body={"run": run.public().wire(), **{name: value for name, value in told.items() if value}},
        is_repeatable=True,
    )
