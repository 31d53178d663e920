"""Wire shapes of runs."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias
from uuid import UUID

from pydantic import Field

from parley.server.kit.schemas import Answer, Body, Instant, Usd
from parley.server.kit.strictjson import MAX_EXACT_INT

RunState: TypeAlias = Literal["pending", "running", "succeeded", "failed", "cancelled"]
Seed: TypeAlias = Annotated[int, Field(ge=0, le=MAX_EXACT_INT)]


class StartRun(Body):
    """The body of a start; it may be left out."""

    seed: Seed | None = Field(
        default=None, description="Draws of the simulated user; without one the test's, else a fresh one."
    )


class RunError(Answer):
    """Why a run failed."""

    code: str = Field(examples=["gateway_inference"])
    message: str
    scope: Literal["user_inference", "gateway_inference", "judge_analysis"]
    turn: int


class RunSummary(Answer):
    """One run in a list. `succeeded` means executed; behaviour is `outcome`."""

    id: UUID
    test_id: UUID
    state: RunState
    created_at: Instant
    started_at: Instant | None
    finished_at: Instant | None
    outcome: Literal["success", "loss", "incomplete", "interrupted"] | None
    score: float | None = Field(description="The final conversation_delta; null without any opinion.")
    cost: Usd
    error: RunError | None
    external_user_id: str | None
    trigger: Literal["manual", "schedule", "suite"]
    revision: str
    seed: int


class ItemUsage(Answer):
    """Tokens and cost of one inference."""

    model: str
    prompt_tokens: int
    cached_prompt_tokens: int
    completion_tokens: int
    cost: Usd
    estimated: bool


class SaidToolCall(Answer):
    """A tool call as the gateway wrote it; `arguments` may not be JSON."""

    id: str
    name: str
    arguments: str


class SaidToolResult(Answer):
    """The result of a call, streamed by the gateway or given by a mock."""

    id: str
    name: str
    content: str


class ConversationItem(Answer):
    """One kept message or opinion. `seq` is its place in the journal."""

    seq: int
    timestamp: Instant
    role: Literal["user", "assistant", "judge"]
    turn: int
    content: str
    usage: ItemUsage
    took_ms: int = Field(description="From the request to its end.")
    first_piece_ms: int | None = Field(description="From the request to the first piece.")
    notes: list[str] = Field(description="What was unusual about the answer.")


class UserItem(ConversationItem):
    """What the simulated user said."""

    role: Literal["user"]
    reasoning: str
    exited: bool = Field(description="The user left with this message.")


class AssistantItem(ConversationItem):
    """One call of the gateway; tool rounds within a turn are items of their own."""

    role: Literal["assistant"]
    round: int
    reasoning: str
    refusal: str
    tool_calls: list[SaidToolCall]
    tool_results: list[SaidToolResult]
    truncated: bool


class OpinionDetail(Answer):
    """What the judge said at a turn, with the arithmetic that followed."""

    reasoning: str
    score: float
    pass_: bool = Field(alias="pass", serialization_alias="pass")
    should_continue: bool
    state: Literal["active", "at_risk", "success", "loss"]
    turn_delta: float
    conversation_delta: float
    loss_streak: int
    required_loss_streak: int


class JudgeItem(ConversationItem):
    """An opinion."""

    role: Literal["judge"]
    opinion: OpinionDetail


class SpentAttempt(Answer):
    """An attempt whose words were not kept. `usage` is null where it cost nothing."""

    seq: int
    timestamp: Instant
    role: Literal["user", "assistant", "judge"]
    turn: int
    attempt: int
    reason: Literal["retried", "nudged", "regenerated", "cancelled", "cut", "handed_over"]
    code: str
    error: str
    will_retry: bool
    status: int | None
    usage: ItemUsage | None


class RunDetail(RunSummary):
    """Everything about one run."""

    test_name: str
    definition: dict[str, Any] = Field(description="What the run was started with, secrets left out.")
    result: dict[str, Any] | None
    conversation: list[UserItem | AssistantItem | JudgeItem]
    attempts: list[SpentAttempt]


class RunExport(Answer):
    """One run as one self-contained file; its JSON Schema is published at `/schemas/run-export-1.json`."""

    format: Literal["parley.run"] = "parley.run"
    version: Literal[1] = 1
    exported_at: Instant
    run: RunDetail
