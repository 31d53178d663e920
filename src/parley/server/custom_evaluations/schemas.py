"""What a pipeline sends: datasets, evaluation settings, runs."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from parley.engine.checks.shapes import MAX_TOOLS, Checks, Mode, ToolName
from parley.server.custom_evaluations.lenient import Kept, Lenient
from parley.server.kit.schemas import DecimalIn, IdIn, NameIn, OneLine, Visible
from parley.server.llm.profiles import ProfileName

MOST_QUESTIONS = 5_000
"""Cases of a dataset (our choice): with twenty repetitions a hundred thousand results."""
MOST_FOLLOW_UPS = 20
MOST_SPLITS = 20
MOST_REPETITIONS = 20
LONGEST_TEXT = 32_000
"""Characters of a question, of what is expected, of one of the criteria."""
LONGEST_ID = 200
DEFAULT_PASS_RATING = Decimal(7)
"""The pass mark of settings that name none (product contract)."""

Text: TypeAlias = Annotated[str, StringConstraints(max_length=LONGEST_TEXT)]
Query: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_TEXT), Visible]
CaseId: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_ID), Visible]
Label: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=256), OneLine]
"""A commit, a branch, a pull request, a source, a split."""
Rating: TypeAlias = Annotated[DecimalIn, Field(ge=0, le=10)]


class ExpectedTrajectory(Lenient):
    """The tools that an answer should have called."""

    tools: list[ToolName] = Field(max_length=MAX_TOOLS)
    mode: Mode = "unordered"


class MainQuestion(Lenient):
    """What a case asks, and what is known about a good answer."""

    query: Query
    expected_results: Text | None = None
    judge_guideline: Text | None = None
    splits: list[Label] = Field(default_factory=list, max_length=MOST_SPLITS)
    expected_trajectory: ExpectedTrajectory | None = None
    checks: Checks = Field(default_factory=list)


class FollowUp(Lenient):
    """What is asked after the main question."""

    query: Query
    expected_results: Text | None = None


class Question(Lenient):
    """A case. `id` is the customer's, or made here."""

    id: CaseId | None = None
    main_question: MainQuestion = Field(alias="main_question")
    follow_up_questions: list[FollowUp] = Field(
        default_factory=list, max_length=MOST_FOLLOW_UPS, alias="follow_up_questions"
    )


def _ids_differ(questions: list[Question]) -> list[Question]:
    seen: set[str] = set()
    for index, question in enumerate(questions):
        if question.id is not None and question.id in seen:
            raise PydanticCustomError(
                "repeated_id", "gives the id of question {index} twice", {"index": index}
            )
        seen.add(question.id or "")
    return questions


class DatasetIn(Lenient):
    """A dataset."""

    name: NameIn
    description: Text | None = None
    acceptance_criteria: Text | None = None
    rejection_criteria: Text | None = None
    evaluation_criteria: Text | None = None
    questions: Annotated[
        list[Question], Field(min_length=1, max_length=MOST_QUESTIONS), AfterValidator(_ids_differ)
    ]


class JudgeIn(Lenient):
    """Who rates: the judge of a profile, or an integrated llm by its slug."""

    profile: ProfileName | None = None
    model: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None

    @model_validator(mode="after")
    def _is_one(self) -> JudgeIn:
        if (self.profile is None) == (self.model is None):
            raise PydanticCustomError("judge", "should name either a profile or a model")
        return self


class SettingsIn(Lenient):
    """A reusable grader."""

    name: NameIn
    criteria: Text | None = None
    judge: JudgeIn | None = None
    votes: Literal[1, 3, 5] = 1
    checks: Checks = Field(default_factory=list)
    pass_rating: Rating = DEFAULT_PASS_RATING


class RunIn(Kept):
    """A run: which dataset, graded how, and where it comes from."""

    dataset_id: IdIn
    evaluation_settings_id: IdIn | None = None
    split: Label | None = None
    repetitions: Annotated[int, Field(ge=1, le=MOST_REPETITIONS)] = 1
    run_source: Label | None = None
    commit: Label | None = None
    branch: Label | None = None
    pull_request: Label | Annotated[int, Field(ge=0, le=10**15)] | None = None


class FinalizeIn(Lenient):
    """How long to wait for scores, seconds."""

    wait: Annotated[int, Field(ge=0, le=60)] = 60
