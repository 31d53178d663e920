"""What the judge gets for the criteria of a step, from what is stored alone."""

from __future__ import annotations

from collections.abc import Sequence

from parley.engine.script.record import Input, StepRecord
from parley.engine.script.rubric import EarlierStep, GradeRequest, ToolVisibility
from parley.engine.script.shapes import Step


def grade_requests(
    judged: StepRecord, step: Step, before: Sequence[StepRecord], tool_visibility: ToolVisibility
) -> list[GradeRequest]:
    """What the judge gets for each criterion of a step, from stored evidence alone."""
    evidence = judged.evidence
    assert evidence is not None, "evidence is stored before it is judged"
    earlier = tuple(
        EarlierStep(input=said_in(one), observation=one.evidence.observation)
        for one in before
        if evidence.history and one.evidence
    )
    kept = {"reference": judged.reference} if "reference" in judged.model_fields_set else {}
    return [
        GradeRequest(
            criterion=criterion,
            input=said_in(judged),
            observation=evidence.observation,
            earlier=earlier,
            tool_visibility=tool_visibility,
            **kept,
        )
        for criterion in step.expect.criteria
    ]


def said_in(step: StepRecord) -> Input:
    """What the agent was really given: the words, or what a responder made of the pause."""
    return Input(resume=step.resumed) if step.resumed else step.input
