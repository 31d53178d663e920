"""The fields of a test with their bounds, and the body of a direct evaluation."""

# ruff: noqa: RUF012 - Pydantic copies default lists and objects for each definition.

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from parley.server.definitions.cron import LONGEST_CRON, cron_problem
from parley.server.definitions.numbers import Threshold
from parley.server.definitions.parts import GivenHook, GivenMock, Resource, Sampling, readable
from parley.server.definitions.shapes import Shape
from parley.server.definitions.start import LINE_NAMES, MOST_LINES, StartLine
from parley.server.definitions.words import GivenWords, TextPart
from parley.server.kit.schemas import OneLine
from parley.server.kit.strictjson import MAX_EXACT_INT
from parley.server.llm.profiles import ProfileName

GatewayName: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]

MOST_NOTIFICATION_THRESHOLD = 2**31 - 1
"""Failures in a row before an alert: what an integer column holds."""


def _schedule(text: str) -> str:
    if (problem := cron_problem(text)) is not None:
        raise PydanticCustomError("cron", "{problem}", {"problem": problem})
    return text


class Evaluated(Shape):
    """What is tried and how it is judged: the part a stored test and a direct evaluation share."""

    goal: Annotated[
        GivenWords,
        Field(description="What the simulated user wants. Seen by the simulated user and the judge."),
    ]
    validation_criteria: Annotated[
        GivenWords | None, Field(description="What a good conversation fulfils. Seen by the judge only.")
    ] = None
    start: Annotated[
        list[StartLine],
        Field(
            max_length=MOST_LINES,
            description="Messages the conversation starts with: user, assistant, tool calls with results.",
        ),
    ] = []
    resources: Annotated[
        list[Resource],
        Field(max_length=16, description="Background for user and judge; the gateway never sees it."),
    ] = []
    tool_mocks: Annotated[
        list[GivenMock],
        Field(max_length=32, description="Answers to tool calls the gateway leaves open."),
    ] = []
    profile: Annotated[ProfileName, Field(description="Which llms play user and judge, at which price.")] = (
        "medium"
    )
    max_turns: Annotated[int, Field(ge=2, le=64, description="Turns after which the conversation ends.")] = 10
    minimum_turns: Annotated[
        int,
        Field(ge=1, le=63, description="Turn from which the user may leave; smaller than max_turns."),
    ] = 1
    allow_user_exit: Annotated[
        bool, Field(description="Whether the simulated user may end the conversation.")
    ] = True
    judge_start_turn: Annotated[
        int, Field(ge=1, le=63, description="First turn that is judged; smaller than max_turns.")
    ] = 1
    loss_threshold: Annotated[
        Threshold, Field(description="A score at or under it counts towards a loss.")
    ] = Decimal("0.2")
    base_threshold: Annotated[
        Threshold,
        Field(description="A score at or above it is a success; above loss_threshold by more than 0.1."),
    ] = Decimal("0.9")
    user_sampling: Annotated[Sampling, Field(description="How varied the simulated user writes.")] = (
        Sampling()
    )
    seed: Annotated[
        Annotated[int, Field(ge=0, le=MAX_EXACT_INT)] | None,
        Field(description="Makes the simulated user's traits repeatable; null draws one at each start."),
    ] = None
    metadata: Annotated[
        dict[str, str],
        Field(max_length=32, description="Pairs of strings that are forwarded to the gateway."),
    ] = {}
    external_user_id: Annotated[
        Annotated[str, Field(min_length=1, max_length=200)] | None,
        Field(description="Forwarded to the gateway as user."),
    ] = None


class Definition(Evaluated):
    """The fields of an agentic test."""

    name: Annotated[
        str,
        Field(min_length=1, max_length=200, description="What people call the test."),
        AfterValidator(readable),
        OneLine,
    ]
    gateway: Annotated[
        GatewayName,
        Field(description="The system under test: a gateway's slug or id, or @vendor/name."),
    ]
    hooks: Annotated[
        list[GivenHook],
        Field(max_length=20, description="Addresses of yours that are called during a run."),
    ] = []
    cron: Annotated[
        Annotated[str, Field(max_length=LONGEST_CRON), AfterValidator(_schedule)] | None,
        Field(description="When the test runs by itself: five fields, UTC."),
    ] = None
    enabled: Annotated[bool, Field(description="Whether the schedule is followed.")] = True
    failure_notification: Annotated[bool, Field(description="Tell when runs fail again and again.")] = True
    notification_threshold: Annotated[
        int,
        Field(ge=1, le=MOST_NOTIFICATION_THRESHOLD, description="Failed runs in a row before an alert."),
    ] = 1
    recovery_notification: Annotated[bool, Field(description="Tell when a run succeeds after an alert.")] = (
        True
    )
    outcome_notification: Annotated[
        bool,
        Field(description="Tell when the behaviour turns from success to loss or incomplete, and back."),
    ] = False


class DirectBody(Evaluated):
    """The body of a direct evaluation, after its aliases are resolved."""

    model: Annotated[
        GatewayName,
        Field(description="The system under test: a gateway's slug or id, or @vendor/name."),
    ]


NOT_EVALUATED = frozenset(
    {
        "name",
        "cron",
        "enabled",
        "failure_notification",
        "notification_threshold",
        "recovery_notification",
        "outcome_notification",
    }
)
"""Fields that change nothing about what is tried and how it is judged."""

NAMES_BELOW: dict[str, tuple[str, ...]] = {
    "goal": tuple(TextPart.model_fields),
    "validation_criteria": tuple(TextPart.model_fields),
    "start": LINE_NAMES,
    "resources": tuple(Resource.model_fields),
    "hooks": tuple(GivenHook.model_fields),
    "tool_mocks": tuple(GivenMock.model_fields),
    "user_sampling": tuple(Sampling.model_fields),
}
"""The names within each field that has fields of its own."""


def stored(definition: Evaluated) -> dict[str, Any]:
    """The fields as JSON values; reading them back gives an equal definition."""
    return definition.model_dump(mode="json")
