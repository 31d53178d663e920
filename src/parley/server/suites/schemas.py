"""Wire shapes of `/api/v1/suites`."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal, TypeAlias
from uuid import UUID

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from parley.server.definitions.cron import LONGEST_CRON, cron_problem
from parley.server.kit.schemas import Answer, Body, DecimalIn, IdIn, Instant, NameIn, OneLine, Visible
from parley.server.kit.strictjson import MAX_EXACT_INT
from parley.server.kit.text import is_storable

MOST_CASES = 500
"""Simulated cases of a suite (product contract); scripted ones are bounded by their own shapes."""
LONGEST_SCRIPT = 2_000_000
"""Characters of a script's text."""
MOST_SPLITS = 20
"""Splits of one case."""
MOST_REPETITIONS = 20
MOST_AT_ONCE = 50
"""Runs of one evaluation that may be open together; the plan's slots bound them as well."""
AT_ONCE = 5
"""The same where nothing is said."""
DEAREST_USD = Decimal(1_000_000)


def _storable(value: str) -> str:
    if not is_storable(value):
        raise PydanticCustomError("storable", "must not contain a NUL character")
    return value


def _schedule(value: str) -> str:
    if (problem := cron_problem(value)) is not None:
        raise PydanticCustomError("cron", "{problem}", {"problem": problem})
    return value


Storable = AfterValidator(_storable)
Split: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=100), Visible, OneLine, Storable]
CaseId: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=256), Storable]
Source: TypeAlias = Annotated[
    str, StringConstraints(min_length=1, max_length=256), Visible, OneLine, Storable
]
"""Where the code under test comes from: a commit, a branch, a pull request."""
SuiteName: TypeAlias = Annotated[NameIn, Storable]
Description: TypeAlias = Annotated[str, StringConstraints(max_length=4_000), Storable]
Cron: TypeAlias = Annotated[str, StringConstraints(max_length=LONGEST_CRON), AfterValidator(_schedule)]


class SimulatedCase(Body):
    """A case that is an agentic test of the account."""

    kind: Literal["simulated"] = "simulated"
    test_id: IdIn = Field(description="An agentic test; each at most once in a suite.")
    splits: Annotated[list[Split], Field(max_length=MOST_SPLITS)] = Field(
        default=[], description="Named parts of the suite that the case belongs to."
    )


GivenCases: TypeAlias = Annotated[list[SimulatedCase], Field(max_length=MOST_CASES)]


class ScriptBody(Body):
    """The scripted part of a suite. Names within are camelCase, as in docs/reference/scripted-suites.md."""

    suite: dict[str, Any] | Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_SCRIPT)] = (
        Field(description="A scripted suite, or its YAML or JSON text.")
    )
    target: dict[str, Any] = Field(
        description="What plays it: `{type: gateway, ...}`, `{type: app, app}` or `{type: process}`."
    )
    judge: Literal["service", "app"] = Field(default="service", description="Who judges the criteria.")
    profile: Literal["low", "medium", "high"] = Field(
        default="low", description="Whose judge it is, where the service judges."
    )


class HowToRun(Body):
    """How an evaluation is carried out."""

    split: Split | None = Field(default=None, description="Only the cases of this split.")
    repetitions: int | None = Field(
        default=None, ge=1, le=MOST_REPETITIONS, description="Runs of each case; default 1."
    )
    concurrency: int | None = Field(
        default=None, ge=1, le=MOST_AT_ONCE, description=f"Runs open at once, at most; default {AT_ONCE}."
    )
    gateway: Annotated[str, StringConstraints(min_length=1, max_length=200), Storable] | None = Field(
        default=None,
        description="Slug or id of a gateway, or @vendor/name: tried in place of the tests' own.",
    )
    budget_usd: Annotated[DecimalIn, Field(gt=0, le=DEAREST_USD)] | None = Field(
        default=None, description="Nothing more is started once the runs have cost this much."
    )
    seed: Annotated[int, Field(ge=0, le=MAX_EXACT_INT)] | None = Field(
        default=None, description="What the seeds of its runs are drawn from; without one it is drawn."
    )


class StartEvaluation(HowToRun):
    """The body of a start; what is left out is taken from the suite's `defaults`."""

    cases: Annotated[list[CaseId], Field(min_length=1, max_length=MOST_CASES)] | None = Field(
        default=None, description="Only these cases. Such an evaluation is compared with its like alone."
    )
    judge: Literal["service", "app"] | None = Field(
        default=None, description="Who judges scripted cases; by default as the suite says."
    )
    commit: Source | None = None
    branch: Source | None = None
    pull_request: Source | None = None


class SuiteCreate(Body):
    """A suite to be made."""

    name: SuiteName
    description: Description | None = None
    cases: GivenCases = Field(default=[], description="Agentic tests of the account.")
    script: ScriptBody | None = Field(
        default=None, description="Scripted cases, beside the simulated ones or alone."
    )
    defaults: HowToRun = Field(
        default=HowToRun(), description="For scheduled evaluations, and for starts that leave them out."
    )
    cron: Cron | None = Field(default=None, description="When it runs by itself: five fields, UTC.")
    enabled: bool = Field(default=True, description="Whether the schedule is followed.")


class SuiteChange(Body):
    """What is to be changed; lists and objects are replaced, null clears what may be null."""

    name: SuiteName | None = None
    description: Description | None = None
    cases: GivenCases | None = None
    script: ScriptBody | None = None
    defaults: HowToRun | None = None
    cron: Cron | None = None
    enabled: bool | None = None


class CaseReply(Answer):
    """A case of a suite."""

    id: str = Field(description="The case's id in every evaluation: of a simulated case, its test's.")
    kind: Literal["simulated", "scripted"]
    test_id: UUID | None = Field(description="Of a simulated case.")
    name: str | None = Field(description="Of a simulated case its test's as of now, null if it was deleted.")
    splits: list[str]


class SkippedStart(Answer):
    """A scheduled evaluation that was left out, and why."""

    due_at: Instant
    reason: str


class SuiteLine(Answer):
    """A suite in a list."""

    id: UUID
    name: str
    description: str | None
    version: int = Field(description="Counts changes of the cases.")
    case_count: int
    splits: list[str]
    cron: str | None
    schedule: str | None = Field(description="The schedule as a sentence.")
    enabled: bool
    next_run_at: Instant | None
    last_skip: SkippedStart | None
    created_at: Instant
    updated_at: Instant


class SuiteDetail(SuiteLine):
    """A whole suite."""

    cases: list[CaseReply]
    script: dict[str, Any] | None = Field(
        description="The scripted part: `suite`, `target`, `judge`, `profile` and the suite's `revision`."
    )
    defaults: dict[str, Any]
