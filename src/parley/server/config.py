"""Settings, read from the environment in small groups. Only `wiring` and the shells read them.

Each group has its own prefix under `PARLEY_`; the description of a field is its line in
docs/reference/settings.md. A wrong value stops the start with its name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict


def _split(value: Any) -> Any:
    return (
        tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value
    )


CommaList = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
"""A list written with commas."""


class Group(BaseSettings):
    """The base of a group of settings."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)


class DatabaseSettings(Group):
    """PostgreSQL 15 or newer."""

    model_config = SettingsConfigDict(env_prefix="PARLEY_DATABASE_")

    url: SecretStr = Field(
        default=SecretStr("postgresql://postgres@127.0.0.1:5432/parley"),
        description="Where the database is: `postgresql://user:password@host:port/name`.",
    )
    pool_size: int = Field(
        default=10,
        ge=1,
        le=200,
        description="Connections kept open by one process. Five served 200 conversations when measured.",
    )
    pool_overflow: int = Field(default=5, ge=0, le=200, description="Connections opened beyond the pool.")
    pool_timeout_s: float = Field(
        default=5.0, gt=0, le=60, description="Wait for a free connection before 503, seconds."
    )
    connect_timeout_s: float = Field(
        default=3.0, gt=0, le=60, description="Wait for a new connection, seconds."
    )
    statement_timeout_s: float = Field(
        default=15.0,
        gt=0,
        le=600,
        description="Longest statement, and pause within a transaction, seconds. Not sent in pooler mode.",
    )
    pooler_mode: bool = Field(
        default=False,
        description="Set it behind a transaction-mode pooler such as PgBouncer: statements are then not "
        "prepared under kept names, and no session settings are sent.",
    )


class RedisSettings(Group):
    """Redis 6.2+ or Valkey 8+."""

    model_config = SettingsConfigDict(env_prefix="PARLEY_REDIS_")

    url: SecretStr = Field(
        default=SecretStr("redis://127.0.0.1:6379/0"),
        description="Where Redis is: `redis://:password@host:port/number`, `rediss://` with TLS.",
    )
    prefix: str = Field(
        default="parley", min_length=1, max_length=40, description="Begins every key and channel name."
    )
    timeout_s: float = Field(default=2.0, gt=0, le=30, description="Wait for one command, seconds.")


class SecretSettings(Group):
    """Keys that seal customers' secrets."""

    model_config = SettingsConfigDict(env_prefix="PARLEY_SECRET_")

    keys: Annotated[tuple[SecretStr, ...], NoDecode, BeforeValidator(_split)] = Field(
        default=(),
        description="Random texts of at least 32 characters, separated by commas. The first seals, all "
        "open; put a new one in front to rotate. Required by `parley api` and `parley worker`.",
    )

    def revealed(self) -> tuple[str, ...]:
        """The keys as plain texts."""
        return tuple(key.get_secret_value() for key in self.keys)


class ApiSettings(Group):
    """The HTTP API."""

    model_config = SettingsConfigDict(env_prefix="PARLEY_API_")

    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    public_url: str = Field(
        default="", description="Where customers reach the service, without a trailing slash; for links."
    )
    body_max_bytes: int = Field(
        default=1_000_000,
        ge=1_000,
        le=100_000_000,
        description="Largest request body, bytes (product contract).",
    )
    large_body_max_bytes: int = Field(
        default=10_000_000, ge=1_000, le=100_000_000, description="The same for results and suites, bytes."
    )
    head_timeout_s: float = Field(
        default=10.0, gt=0, le=300, description="Wait for the whole head of a request, seconds; then 408."
    )
    body_timeout_s: float = Field(
        default=60.0, gt=0, le=600, description="Wait for the whole body of a request, seconds; then 408."
    )
    requests_per_minute: int = Field(
        default=6_000,
        ge=0,
        le=1_000_000,
        description="Requests one key may send to one process per minute, in bursts of a tenth of it; "
        "0 is no limit.",
    )
    grades_per_minute: int = Field(
        default=1_200,
        ge=0,
        le=1_000_000,
        description="Grades of scripted suites that one key may ask for in any 60 seconds; 0 is no limit.",
    )
    query_key: bool = Field(
        default=True, description="Whether the API key may be sent as `?api-key=` (it is never logged)."
    )
    cors_origins: CommaList = Field(
        default=(), description="Origins that browsers may call from, separated by commas; none: CORS is off."
    )
    allowed_hosts: CommaList = Field(
        default=(), description="Host headers that are answered, separated by commas; none: all."
    )
    key_cache_s: float = Field(
        default=5.0,
        ge=0,
        le=10,
        description="How long a process trusts a key it has looked up, seconds. Revocation is promised "
        "within 10 s.",
    )
    session_hours: int = Field(
        default=168, ge=1, le=8_760, description="How long a sign-in to the dashboard lasts, hours."
    )
    direct_streams: int = Field(
        default=500,
        ge=1,
        le=100_000,
        description="Direct evaluations one process holds at once; the next one is answered 503.",
    )
    event_streams: int = Field(
        default=2_000,
        ge=1,
        le=100_000,
        description="Watched event streams one process holds at once; the next one is answered 503.",
    )
    ready_timeout_s: float = Field(
        default=2.0, gt=0, le=10, description="Bound of each check of `/readyz`, seconds."
    )
    shutdown_grace_s: int = Field(
        default=10,
        ge=0,
        le=600,
        description="Time for open requests when the process is asked to stop, seconds; "
        "it is gone 8 seconds later at the latest.",
    )


class IntegratedLlmSetting(BaseModel):
    """One integrated llm: its slug, where it lives, and its prices in US dollars per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    slug: str
    base_url: str
    model: str
    api_key: SecretStr = SecretStr("")
    system_instruction: str | None = None
    input: Decimal = Decimal(0)
    cached: Decimal = Decimal(0)
    output: Decimal = Decimal(0)


class AdminSettings(Group):
    """The operators' API, `/admin/v1`, on an address of its own. It is off without a token."""

    model_config = SettingsConfigDict(env_prefix="PARLEY_ADMIN_")

    host: str = Field(
        default="127.0.0.1", description="Address to listen on; keep it away from customers' networks."
    )
    port: int = Field(default=8001, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    token: SecretStr = Field(
        default=SecretStr(""),
        description="A random text of at least 32 characters that operators send as `Authorization: Bearer`; "
        "none: the operators' API is off.",
    )

    @field_validator("token")
    @classmethod
    def _is_long(cls, token: SecretStr) -> SecretStr:
        if 0 < len(token.get_secret_value()) < 32:
            raise ValueError("should have at least 32 characters")
        return token


class LlmSettings(Group):
    """The provider whose llms play user and judge. Without a base URL every start is refused."""

    model_config = SettingsConfigDict(env_prefix="PARLEY_LLM_")

    base_url: str = Field(
        default="", description="OpenAI-compatible base URL, such as `https://api.openai.com/v1`."
    )
    api_key: SecretStr = Field(default=SecretStr(""), description="Key of that provider.")
    max_connections: int = Field(
        default=1_000, ge=1, le=100_000, description="Open connections to llms and gateways in one process."
    )
    first_token_timeout_s: float = Field(
        default=60.0, gt=0, le=600, description="Wait for the first piece of an inference, seconds."
    )
    idle_timeout_s: float = Field(
        default=60.0, gt=0, le=600, description="Wait between two meaningful pieces, seconds."
    )
    inference_timeout_s: float = Field(default=600.0, gt=0, le=3_600, description="Whole inference, seconds.")
    integrated: tuple[IntegratedLlmSetting, ...] = Field(
        default=(),
        description="Systems under test that tests may name directly, as a JSON list of objects with `slug` "
        "(`@vendor/name`), `base_url`, `model`, and optionally `api_key`, `system_instruction`, `input`, "
        "`cached`, `output` (US dollars per million tokens).",
    )


class ProfileSettings(Group):
    """Which llms play user and judge. `@demo/...` names one of the shipped scripted llms."""

    model_config = SettingsConfigDict(env_prefix="PARLEY_PROFILE_")

    low_user: str = Field(default="", description="Simulated user of the profile low; empty: nobody.")
    low_judge: str = Field(default="", description="Judge of the profile low; empty: nobody.")
    medium_user: str = Field(
        default="", description="Simulated user of the profile medium; empty: that of low."
    )
    medium_judge: str = Field(default="", description="Judge of the profile medium; empty: that of low.")
    high_user: str = Field(
        default="", description="Simulated user of the profile high; empty: that of medium."
    )
    high_judge: str = Field(default="", description="Judge of the profile high; empty: that of medium.")
    prices: dict[str, tuple[Decimal, Decimal, Decimal]] = Field(
        default={},
        description="Prices other than the usual ones, as a JSON object of seats (`low_user`, `high_judge`, "
        "...) with a list of input, cached and output: US dollars per million tokens.",
    )

    def named(self, profile: Literal["low", "medium", "high"], role: Literal["user", "judge"]) -> str:
        """The llm of a profile and role, with lower profiles standing in; empty means nobody."""
        steps = ("low", "medium", "high")
        for step in reversed(steps[: steps.index(profile) + 1]):
            name = str(getattr(self, f"{step}_{role}"))
            if name:
                return name
        return ""


class OutboundSettings(Group):
    """The guarded way out to customers' addresses."""

    model_config = SettingsConfigDict(env_prefix="PARLEY_OUTBOUND_")

    allowed_networks: CommaList = Field(
        default=(),
        description="Inner networks that may be reached, in CIDR form, separated by commas; none: public "
        "addresses only. Customers can then read what answers there.",
    )
    allowed_hosts: CommaList = Field(
        default=(),
        description="Exact host names that may be reached at any address, separated by commas; names below "
        "them are others. Customers can then read what answers there.",
    )
    hook_timeout_s: float = Field(
        default=10.0, gt=0, le=60, description="Whole call of a hook, seconds (product contract)."
    )
    hook_max_bytes: int = Field(
        default=1_000_000,
        ge=1_000,
        le=100_000_000,
        description="Largest answer of a hook, bytes as sent and as unpacked; a larger one ends the run.",
    )
    resource_timeout_s: float = Field(
        default=10.0, gt=0, le=60, description="Whole fetch of a remote resource, seconds."
    )
    resource_max_bytes: int = Field(
        default=200_000,
        ge=1_000,
        le=10_000_000,
        description="Largest remote resource, bytes as sent and as unpacked. Its text is part of every "
        "prompt of user and judge.",
    )


class AppsSettings(Group):
    """Remote apps, which play attempts at scripted cases themselves."""

    model_config = SettingsConfigDict(env_prefix="PARLEY_APPS_")

    call_timeout_s: float = Field(
        default=15.0, gt=0, le=120, description="One call of an app beyond the wait for events, seconds."
    )
    wait_s: int = Field(default=20, ge=0, le=25, description="Wait for events in one call, seconds.")
    unknown_s: float = Field(
        default=30.0,
        gt=0,
        le=3_600,
        description="Silence of an app after which an attempt's state counts as unknown, seconds.",
    )
    lost_s: float = Field(
        default=120.0,
        gt=0,
        le=86_400,
        description="Silence of an app after which its attempts end as errors, seconds.",
    )
    full_max_s: float = Field(
        default=3_600.0,
        gt=0,
        le=86_400,
        description="Longest wait for a place in an app that is full, seconds.",
    )
    attempt_max_s: float = Field(
        default=3_600.0, gt=0, le=86_400, description="Longest attempt in an app once it runs, seconds."
    )


class WorkerSettings(Group):
    """Workers."""

    model_config = SettingsConfigDict(env_prefix="PARLEY_WORKER_")

    concurrency: int = Field(default=50, ge=1, le=2_000, description="Runs one process executes at once.")
    lease_s: float = Field(
        default=30.0, ge=1, le=600, description="How long a run belongs to a silent worker, seconds."
    )
    heartbeat_s: float = Field(
        default=10.0, gt=0, le=200, description="How often a lease is renewed, seconds."
    )
    tick_s: float = Field(
        default=1.0, gt=0, le=60, description="How often sweep, outbox and schedule look for work, seconds."
    )
    shutdown_grace_s: float = Field(
        default=10.0,
        ge=0,
        le=600,
        description="Time to hand over open runs when asked to stop, seconds; "
        "the process is gone 8 seconds later at the latest.",
    )


class RunSettings(Group):
    """Limits of one conversation."""

    model_config = SettingsConfigDict(env_prefix="PARLEY_RUN_")

    wall_time_s: float = Field(default=3_600.0, gt=0, le=86_400, description="Longest run, seconds.")
    most_entries: int = Field(
        default=6_000,
        ge=10,
        le=100_000,
        description="Entries one run may keep; then it ends as `entry_limit`. "
        "The bounds of a test's parts allow no more than the default.",
    )
    sse_ping_s: float = Field(
        default=15.0, gt=0, le=30, description="Silence on an event stream before a comment, seconds."
    )
    stream_waiting_bytes: int = Field(
        default=1_000_000,
        ge=10_000,
        le=100_000_000,
        description="What may wait for a slow direct reader, bytes; then the conversation waits.",
    )
    stream_stalled_s: float = Field(
        default=60.0,
        gt=0,
        le=600,
        description="A reader that takes nothing for so long has left, seconds.",
    )
    stream_check_s: float = Field(
        default=5.0, gt=0, le=10, description="How often an open stream looks whether its key is still valid."
    )


class SmtpSettings(Group):
    """The mail server that takes notifications to owners' e-mail. Without a host no mail is sent."""

    model_config = SettingsConfigDict(env_prefix="PARLEY_SMTP_")

    host: str = Field(default="", description="Where the mail server is.")
    port: int = Field(
        default=587, ge=1, le=65535, description="Its port: commonly 587 with `starttls`, 465 with `tls`."
    )
    security: Literal["starttls", "tls", "none"] = Field(
        default="starttls",
        description="How the connection is protected. `starttls` never goes on without it; `none` is for a "
        "server on the same machine.",
    )
    username: str = Field(default="", description="Whom we sign in as; empty: nobody.")
    password: SecretStr = Field(default=SecretStr(""), description="That user's password.")
    sender: str = Field(
        default="",
        description="The plain address that mail comes from; required with a host, and one that the server "
        "lets us use.",
    )
    timeout_s: float = Field(default=20.0, gt=0, le=60, description="Whole hand-over of one mail, seconds.")


class RetentionSettings(Group):
    """What is kept how long. Everything not named here is kept until it is deleted."""

    model_config = SettingsConfigDict(env_prefix="PARLEY_RETENTION_")

    run_days: int = Field(
        default=30,
        ge=1,
        le=36_500,
        description="Succeeded and failed runs, days from their end (product contract). Operators may "
        "override it for an account.",
    )
    cancelled_days: int = Field(
        default=1,
        ge=1,
        le=36_500,
        description="Cancelled runs, days from their end (product contract); never longer than the others.",
    )
    accounting_days: int = Field(
        default=90,
        ge=1,
        le=36_500,
        description="Rows of direct evaluations, which have no content, days from their end.",
    )
    notification_days: int = Field(
        default=30,
        ge=1,
        le=36_500,
        description="Notifications with their deliveries, days from when they were written.",
    )
    batch_size: int = Field(
        default=200,
        ge=1,
        le=10_000,
        description="Most rows removed by one statement; a run takes its entries along.",
    )
    tick_s: float = Field(
        default=300.0, gt=0, le=86_400, description="Wait between two passes of one worker, seconds."
    )


class TelemetrySettings(Group):
    """What operators see of a process: its metrics page, and traces sent to a collector."""

    model_config = SettingsConfigDict(env_prefix="PARLEY_TELEMETRY_")

    metrics_host: str = Field(
        default="127.0.0.1",
        description="Address of a worker's page; keep it away from customers' networks. The API's page is on "
        "the operators' address.",
    )
    metrics_port: int | None = Field(
        default=None,
        ge=0,
        le=65535,
        description="Port on which a worker answers `/metrics`, `/livez` and `/readyz`; 0 takes a free one, "
        "none: it opens no port. `/metrics` wants `PARLEY_ADMIN_TOKEN` if there is one.",
    )
    otlp_url: str = Field(
        default="",
        description="Base address of an OTLP collector over HTTP, such as `http://collector:4318`; "
        "`/v1/traces` is added. None: nothing is traced.",
    )
    otlp_headers: SecretStr = Field(
        default=SecretStr(""),
        description="Headers for the collector, as `name=value` separated by commas.",
    )
    sample_ratio: float = Field(
        default=1.0, ge=0, le=1, description="Part of the runs and direct evaluations that is traced."
    )
    content: bool = Field(
        default=False,
        description="Whether traces hold what was said. Then the collector holds customers' words.",
    )

    def header_pairs(self) -> dict[str, str]:
        """The collector's headers."""
        lines = (line.partition("=") for line in self.otlp_headers.get_secret_value().split(","))
        return {name.strip(): value.strip() for name, _, value in lines if name.strip()}


class LogSettings(Group):
    """Logs."""

    model_config = SettingsConfigDict(env_prefix="PARLEY_LOG_")

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Lowest level written."
    )
    format: Literal["json", "console"] = Field(
        default="json", description="One JSON object per line, or lines for people."
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """All groups."""

    database: DatabaseSettings
    redis: RedisSettings
    secret: SecretSettings
    api: ApiSettings
    llm: LlmSettings
    profile: ProfileSettings
    outbound: OutboundSettings
    worker: WorkerSettings
    run: RunSettings
    smtp: SmtpSettings
    retention: RetentionSettings
    log: LogSettings
    admin: AdminSettings = field(default_factory=AdminSettings)
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)
    apps: AppsSettings = field(default_factory=AppsSettings)

    @staticmethod
    def load() -> Settings:
        """Read the environment. Raises pydantic's ValidationError naming what is wrong."""
        return Settings(
            database=DatabaseSettings(),
            redis=RedisSettings(),
            secret=SecretSettings(),
            api=ApiSettings(),
            llm=LlmSettings(),
            profile=ProfileSettings(),
            outbound=OutboundSettings(),
            worker=WorkerSettings(),
            run=RunSettings(),
            smtp=SmtpSettings(),
            retention=RetentionSettings(),
            log=LogSettings(),
            admin=AdminSettings(),
            telemetry=TelemetrySettings(),
            apps=AppsSettings(),
        )


GROUPS: tuple[type[Group], ...] = (
    DatabaseSettings,
    RedisSettings,
    SecretSettings,
    ApiSettings,
    AdminSettings,
    LlmSettings,
    ProfileSettings,
    OutboundSettings,
    AppsSettings,
    WorkerSettings,
    RunSettings,
    SmtpSettings,
    RetentionSettings,
    TelemetrySettings,
    LogSettings,
)


def variable(group: type[Group], field: str) -> str:
    """The name of the environment variable that sets `field` of `group`."""
    return f"{group.model_config.get('env_prefix', '')}{field}".upper()
