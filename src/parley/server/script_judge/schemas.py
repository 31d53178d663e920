"""Wire shapes of the service as judge; camelCase, as everything of scripted suites."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from parley.engine.script.record import Quote
from parley.server.kit.schemas import Answer, Body


class PinnedJudge(Body):
    """The judge that a caller means."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)

    id: str
    version_hash: str


class GradeIn(Body):
    """One criterion of one step to be judged."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)

    judge: PinnedJudge = Field(description="The judge this is pinned to; any other is refused.")
    rubric_version: str = Field(examples=["rubric-1"])
    request: dict[str, Any] = Field(
        description="Criterion, input, observation, reference, earlier steps and visibility of tools, "
        "as docs/reference/scripted-suites.md tells them."
    )
    problem: str | None = Field(
        default=None, max_length=2_000, description="What was wrong with the judge's last answer."
    )


class JudgeReply(Answer):
    """Who judges here."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)

    id: str = Field(examples=["parley/low"])
    version_hash: str = Field(description="Changes with the llm and with the rubric.")
    location: Literal["service"] = "service"
    rubric_version: str = Field(examples=["rubric-1"])
    profile: str = Field(examples=["low"])
    max_evidence_chars: int = Field(description="More evidence is refused before anything is asked.")


class VerdictReply(Answer):
    """The answer, read strictly."""

    status: Literal["passed", "failed", "inconclusive"]
    reason: str
    quotes: list[Quote] = Field(description="`found: false` marks what was never said.")


class GradeReply(Answer):
    """What the judge answered. Exactly one of `verdict` and `problem` is there."""

    answer: str = Field(description="As the judge wrote it.")
    verdict: VerdictReply | None = Field(default=None, description="Null where none can be read.")
    problem: str | None = Field(
        default=None,
        description="Why no verdict can be read: ask once more with it, then it is an error, never a fail.",
    )
    usage: dict[str, Any] | None = Field(
        default=None, description="Tokens and cost; as in an observation. Null where nobody told."
    )
