"""Settings of the local stack alone."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from parley.server.config import Group


class LocalSettings(Group):
    """Programs that the local stack starts. Empty: an installed wheel, else what the system has."""

    model_config = SettingsConfigDict(env_prefix="PARLEY_LOCAL_")

    postgres_bin: str | None = Field(
        default=None, description="Folder with `postgres` and `initdb`, version 15 or newer."
    )
    valkey_bin: str | None = Field(default=None, description="The program `valkey-server` or `redis-server`.")
