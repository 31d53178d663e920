"""The reference names every field, event, status and phase that there is."""

from __future__ import annotations

import re
import typing
from pathlib import Path

import pytest
from pydantic import BaseModel

from parley.engine.script import faults, observation, record, rubric, shapes, status
from parley.engine.script.check import CheckRecord
from parley.engine.script.compaction import COMPACTION_VERSION
from parley.engine.script.progress import Progress, ProgressType

PAGE = (Path(__file__).parents[4] / "docs/reference/scripted-suites.md").read_text()
WORDS = set(re.findall(r"[A-Za-z][\w-]*", PAGE))
SHAPES: list[type[BaseModel]] = [
    shapes.Suite, shapes.Case, shapes.Step, shapes.Expect, shapes.Output, shapes.ToolExpect, shapes.Count,
    shapes.TextExpect, shapes.Criterion, shapes.Evidence, shapes.OutputSelector, shapes.Named,
    shapes.ResumeText, shapes.ResumeSelect, shapes.ResumeValue,
    observation.Observation, observation.Structured, observation.AgentEvent, observation.Interrupt,
    observation.Option, observation.Usage,
    record.AttemptRecord, record.RunRecord, record.StepRecord, record.StoredEvidence, record.CriterionRecord,
    record.Quote, record.ErrorRecord, record.Verification, record.JudgeIdentity, CheckRecord, status.Counts,
    rubric.GradeRequest, rubric.EarlierStep, Progress,
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_every_field_is_named(shape: type[BaseModel]) -> None:
    assert {field.alias or name for name, field in shape.model_fields.items()} <= WORDS


@pytest.mark.parametrize(
    "names",
    [shapes.EventName, faults.Phase, status.Status, ProgressType, rubric.ToolVisibility, record.Location],
)
def test_every_word_of_the_wire_is_named(names: object) -> None:
    assert set(typing.get_args(names)) <= WORDS


@pytest.mark.parametrize(
    "bound",
    [
        f"1..{shapes.MAX_CASES:,}",
        f"1..{shapes.MAX_STEPS}",
        f"1..{shapes.MAX_REPETITIONS}",
        f"1..{shapes.MAX_LATENCY_MS:,}",
        f"at most {shapes.MAX_CRITERIA}",
        COMPACTION_VERSION,
        rubric.RUBRIC_VERSION,
    ],
)
def test_every_bound_and_version_is_the_code_s(bound: str) -> None:
    assert bound in PAGE


def test_example_is_a_suite() -> None:
    from parley.sdk.evals import parse_suite

    found = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert found
    assert parse_suite(found[1]).cases[0].id == "over-the-limit"
