"""Records in a file, as `parley evals run --json` writes them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import cast, get_args

from pydantic import ValidationError

from parley.engine.script.later import is_owed
from parley.engine.script.record import RunRecord
from parley.engine.script.rubric import ToolVisibility
from parley.sdk.evals.errors import EvalsMisconfigured
from parley.sdk.evals.later import grade_run
from parley.sdk.evals.service_judge import ServiceJudge
from parley.sdk.harmless import json_text


def read_records(path: Path) -> list[RunRecord]:
    """The runs of a file. Raises `EvalsMisconfigured`."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        return [RunRecord.of_wire(one) for one in (held if isinstance(held, list) else [held])]
    except (OSError, ValueError, ValidationError) as error:
        first = str(error).splitlines()[0]
        raise EvalsMisconfigured(f"{path} holds no records of `parley evals run --json`: {first}") from error


def write_records(path: Path, records: list[RunRecord]) -> None:
    """Write runs as they are read. Raises `EvalsMisconfigured`."""
    try:
        path.write_text(json_text([record.wire() for record in records]) + "\n", encoding="utf-8")
    except OSError as error:
        raise EvalsMisconfigured(f"{path} cannot be written: {error}.") from error


def graded(records: list[RunRecord], tool_visibility: str) -> list[RunRecord]:
    """The runs with the service's verdicts on what was ungraded. Raises `ParleyError`."""
    if tool_visibility not in get_args(ToolVisibility):
        raise EvalsMisconfigured(f"--tool-visibility is none, reported or full, not {tool_visibility}.")
    seen = cast("ToolVisibility", tool_visibility)
    return [asyncio.run(_graded(record, seen)) for record in records]


async def _graded(record: RunRecord, tool_visibility: ToolVisibility) -> RunRecord:
    if not any(map(is_owed, record.attempts)):
        return record
    if record.judge is None or record.judge.location != "service":
        raise EvalsMisconfigured(f"The run of {record.suite_id} was not to be judged by the service.")
    profile = record.judge.id.removeprefix("parley/")
    return await grade_run(record, ServiceJudge(profile=profile), tool_visibility=tool_visibility)
