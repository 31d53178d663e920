"""Results as a pipeline sends them. Each is read by itself, so that one bad line spoils no other."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from parley.server.custom_evaluations.lenient import Kept, Lenient
from parley.server.custom_evaluations.schemas import CaseId
from parley.server.kit.schemas import DecimalIn

MOST_RESULTS = 100
"""Results of one batch (product contract)."""
LONGEST_OUTPUT = 200_000
"""Characters of an answer; the judge is shown its beginning and end where it is longer than it may read."""
MOST_TURNS = 200
MOST_TOOL_CALLS = 500
MOST_RETRIEVED = 200
LONGEST_DURATION_MS = 2_000_000_000

Key: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class Output(Lenient):
    """What the agent answered; an empty one is the agent's failure."""

    text: Annotated[str, StringConstraints(max_length=LONGEST_OUTPUT)]


class AgentError(Lenient):
    """How the agent failed by itself."""

    type: Annotated[str, StringConstraints(min_length=1, max_length=200)] = "error"
    message: Annotated[str, StringConstraints(max_length=8_000)] = ""


class Turn(Lenient):
    """One thing that was said."""

    role: Annotated[str, StringConstraints(min_length=1, max_length=50)]
    content: Annotated[str, StringConstraints(max_length=LONGEST_OUTPUT)]


class Called(Lenient):
    """A tool that the agent called."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    arguments: Any = None
    result: Any = None
    error: Any = None


class Timings(Lenient):
    """How long the agent took."""

    duration_ms: Annotated[int, Field(ge=0, le=LONGEST_DURATION_MS)] | None = None


class UsageIn(Lenient):
    """What the answer cost the customer."""

    cost_usd: Annotated[DecimalIn, Field(ge=0, le=1_000_000)] | None = None
    total_tokens: Annotated[int, Field(ge=0, le=10**12)] | None = None


class ResultIn(Kept):
    """One result: the case by id or index, and an output or an error."""

    idempotency_key: Key
    case_id: CaseId | None = None
    question_index: Annotated[int, Field(ge=0)] | None = None
    run_number: Annotated[int, Field(ge=1)] = 1
    output: Output | None = None
    error: AgentError | None = None
    turns: list[Turn] | None = Field(default=None, max_length=MOST_TURNS)
    tool_calls: list[Called] | None = Field(default=None, max_length=MOST_TOOL_CALLS)
    retrieval_context: (
        Annotated[
            list[Annotated[str, StringConstraints(max_length=LONGEST_OUTPUT)]],
            Field(max_length=MOST_RETRIEVED),
        ]
        | None
    ) = None
    timings: Timings | None = None
    usage: UsageIn | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> ResultIn:
        if self.case_id is None and self.question_index is None:
            raise PydanticCustomError("case", "needs caseId or questionIndex")
        if (self.output is None) == (self.error is None):
            raise PydanticCustomError("end", "needs either output or error")
        return self


class BatchIn(Kept):
    """Up to `MOST_RESULTS` results; what is wrong with one of them is told with it."""

    batch_id: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    results: Annotated[list[Any], Field(min_length=1, max_length=MOST_RESULTS)]
