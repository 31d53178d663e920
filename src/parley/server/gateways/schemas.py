"""Wire shapes of gateways."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal, TypeAlias
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic_core import PydanticCustomError

from parley.engine.chat.faults import FaultCode
from parley.server.gateways.headers import MOST_HEADERS, header_faults
from parley.server.kit.schemas import Answer, Body, DecimalIn, Instant, NameIn, Usd
from parley.server.kit.strictjson import MAX_EXACT_INT
from parley.server.llm.request import RESERVED_FIELDS


def _headers(value: dict[str, str]) -> dict[str, str]:
    faults = header_faults(value)
    if faults:
        told = "; ".join(f"{name!r} {problem}" for name, problem in faults)
        raise PydanticCustomError("headers", "{told}", {"told": told})
    return value


def _extra_body(value: dict[str, Any]) -> dict[str, Any]:
    taken = [name for name in RESERVED_FIELDS if name in value]
    if taken:
        raise PydanticCustomError("extra_body", "must not hold {taken}", {"taken": ", ".join(taken)})
    return value


def _stop(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _no_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


ModelName: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"\S")]
BaseUrl: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=2_048)]
Secret: TypeAlias = Annotated[
    str, StringConstraints(min_length=1, max_length=4_096, pattern=r"^[\x21-\x7e]+$")
]
StopText: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Stop: TypeAlias = Annotated[
    list[StopText],
    Field(max_length=16),
    BeforeValidator(_stop, json_schema_input_type=str | list[str]),
]
Headers: TypeAlias = Annotated[dict[str, str], Field(max_length=MOST_HEADERS), AfterValidator(_headers)]
ExtraBody: TypeAlias = Annotated[dict[str, Any], Field(max_length=64), AfterValidator(_extra_body)]
Price: TypeAlias = Annotated[DecimalIn, Field(ge=0, le=10_000, decimal_places=9)]
Seconds: TypeAlias = Annotated[float, Field(gt=0, le=3_600)]


class ToolFunction(Body):
    """The function of a tool definition, as OpenAI takes it."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.:-]{1,128}$")]
    description: str | None = None
    parameters: dict[str, Any] | None = None


class ToolDefinition(Body):
    """One OpenAI tool definition."""

    type: Literal["function"]
    function: ToolFunction


class GivenPrices(Body):
    """US dollars per million tokens."""

    input: Price = Decimal(0)
    cached: Price = Decimal(0)
    output: Price = Decimal(0)


class Timeouts(Body):
    """Deadlines of one inference, seconds; null follows the operator's setting."""

    first_token_s: Seconds | None = None
    idle_s: Seconds | None = None
    inference_s: Seconds | None = None


class _Optional(Body):
    """The fields that may be left out; null stands for the default."""

    api_key: Secret | None = Field(default=None, description="Write-only. Sent as a bearer token.")
    system_instruction: Annotated[str, StringConstraints(max_length=32_000)] | None = Field(
        default=None, description="Goes before all messages."
    )
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    stop: Stop | None = Field(default=None, description="One text or up to 16.", examples=[["END"]])
    seed: Annotated[int, Field(ge=-MAX_EXACT_INT, le=MAX_EXACT_INT)] | None = None
    reasoning_effort: Annotated[str, StringConstraints(pattern=r"^[a-z_-]{1,40}$")] | None = Field(
        default=None, examples=["low"]
    )
    tools: Annotated[list[ToolDefinition], Field(max_length=128)] | None = Field(
        default=None, description="OpenAI tool definitions."
    )
    headers: Headers | None = Field(
        default=None,
        description="Sent with each call. Values are write-only. Not Host, Content-*, Transfer-Encoding, "
        "Connection, Proxy-*, Authorization.",
        examples=[{"X-Team": "support"}],
    )
    extra_body: ExtraBody | None = Field(
        default=None, description="Laid over the request; not model, messages, stream."
    )
    forward_metadata: Literal["body", "headers", "none"] | None = Field(
        default=None, description="How a test's metadata travels; default body."
    )
    prices: GivenPrices | None = Field(
        default=None, description="Default 0: the account pays its own provider."
    )
    timeouts: Timeouts | None = None


class GatewayCreate(_Optional):
    """A gateway to be made."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "Shop support",
                    "base_url": "https://api.example.com/v1",
                    "model": "support-2",
                    "api_key": "the-key-of-your-endpoint",
                    "headers": {"X-Team": "support"},
                    "temperature": 0.2,
                    "timeouts": {"first_token_s": 20},
                }
            ]
        }
    )

    name: NameIn = Field(examples=["Shop support"])
    base_url: BaseUrl = Field(
        description="OpenAI-compatible, up to but without /chat/completions.",
        examples=["https://api.example.com/v1"],
    )
    model: ModelName = Field(examples=["support-2"])


class GatewayChange(_Optional):
    """What to change of a gateway: only what is sent. Objects and lists are replaced, null clears."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"temperature": None, "prices": {"input": 0.4, "output": 1.6}}]}
    )

    name: NameIn = Field(default="", examples=["Shop support"], json_schema_extra=_no_default)
    base_url: BaseUrl = Field(
        default="", examples=["https://api.example.com/v1"], json_schema_extra=_no_default
    )
    model: ModelName = Field(default="", examples=["support-2"], json_schema_extra=_no_default)


class PricesAnswer(Answer):
    """US dollars per million tokens."""

    input: Usd
    cached: Usd
    output: Usd


class TimeoutsAnswer(Answer):
    """Deadlines of one inference, seconds; null follows the operator's setting."""

    first_token_s: float | None
    idle_s: float | None
    inference_s: float | None


class GatewayAnswer(Answer):
    """A gateway, without its secrets."""

    id: UUID
    name: str
    slug: str = Field(description="`name:last4`; kept when the name changes.", examples=["shop-support:9f3a"])
    base_url: str
    model: str
    has_api_key: bool
    header_names: list[str]
    system_instruction: str | None
    temperature: float | None
    top_p: float | None
    max_completion_tokens: int | None
    stop: list[str]
    seed: int | None
    reasoning_effort: str | None
    tools: list[dict[str, Any]]
    extra_body: dict[str, Any]
    forward_metadata: str
    prices: PricesAnswer
    timeouts: TimeoutsAnswer
    created_at: Instant
    updated_at: Instant


class CheckAnswer(Answer):
    """What one tiny message told about a gateway."""

    ok: bool
    latency_ms: int = Field(description="The whole call.")
    first_piece_ms: int | None = Field(description="The wait for its first piece.")
    streams: bool | None = Field(description="Whether the answer came in pieces; null without an answer.")
    reports_usage: bool | None
    model: str | None = Field(description="The name the provider gave for the llm.")
    notes: list[str]
    code: FaultCode | None
    status: int | None = Field(description="HTTP status of a refusal.")
    fault: str | None = Field(description="What went wrong and what to do, in a sentence.")
