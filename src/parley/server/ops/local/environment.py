"""The settings that the stack hands to its processes, as environment variables. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from parley.server.config import (
    AdminSettings,
    ApiSettings,
    DatabaseSettings,
    LlmSettings,
    LogSettings,
    OutboundSettings,
    ProfileSettings,
    RedisSettings,
    SecretSettings,
    WorkerSettings,
    variable,
)
from parley.server.llm.profiles import DEMO_LLMS

DEMO_KEY = "demo"
"""Any key will do: the demo llms look at none."""
LOOPBACK_NETWORK = "127.0.0.0/8"
ANSWERED_HOSTS = "127.0.0.1,localhost"
"""Other Host headers are refused, so that no web page can reach the stack by a name of its own."""
GRACE_S = 3
"""What API and worker get for their open work when the stack stops, seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where the parts of one stack are."""

    api_port: int
    database_url: str
    redis_url: str
    demo_llm_url: str | None
    """None when no demo llms run."""
    admin_port: int

    @property
    def api_url(self) -> str:
        """The API as people and scripts reach it."""
        return f"http://127.0.0.1:{self.api_port}"

    @property
    def admin_url(self) -> str:
        """The operators' API."""
        return f"http://127.0.0.1:{self.admin_port}"


def child_environment(
    outer: Mapping[str, str], addresses: Addresses, seal_key: str, admin_token: str
) -> dict[str, str]:
    """The outer environment, with what the stack decides over it, and its defaults below it.

    A customer's own `PARLEY_` settings win, except where the stack could not work with them.
    """
    decided = {
        variable(DatabaseSettings, "url"): addresses.database_url,
        variable(RedisSettings, "url"): addresses.redis_url,
        variable(ApiSettings, "host"): "127.0.0.1",
        variable(ApiSettings, "port"): str(addresses.api_port),
        variable(AdminSettings, "host"): "127.0.0.1",
        variable(AdminSettings, "port"): str(addresses.admin_port),
        variable(AdminSettings, "token"): admin_token,
    }
    defaults = {
        variable(ApiSettings, "public_url"): addresses.api_url,
        variable(ApiSettings, "allowed_hosts"): ANSWERED_HOSTS,
        variable(ApiSettings, "shutdown_grace_s"): str(GRACE_S),
        variable(WorkerSettings, "shutdown_grace_s"): str(GRACE_S),
        variable(SecretSettings, "keys"): seal_key,
        variable(OutboundSettings, "allowed_networks"): LOOPBACK_NETWORK,
        variable(LogSettings, "format"): "console",
        "PYTHONUNBUFFERED": "1",
    }
    if not outer.get(variable(LlmSettings, "base_url")) and addresses.demo_llm_url is not None:
        decided[variable(LlmSettings, "base_url")] = addresses.demo_llm_url
        decided[variable(LlmSettings, "api_key")] = DEMO_KEY
        defaults[variable(ProfileSettings, "low_user")] = DEMO_LLMS["user"]
        defaults[variable(ProfileSettings, "low_judge")] = DEMO_LLMS["judge"]
    given = {name: value for name, value in outer.items() if value}
    return {**outer, **defaults, **given, **decided}
