"""Settings, and the page that lists them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from parley.server.config import (
    GROUPS,
    ApiSettings,
    DatabaseSettings,
    ProfileSettings,
    SecretSettings,
    Settings,
    variable,
)

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "settings.md"


def test_page_lists_every_setting_with_its_default() -> None:
    lines = {
        line.split("`")[1]: line for line in PAGE.read_text().splitlines() if line.startswith("| `PARLEY_")
    }
    known = {variable(group, name): field for group in GROUPS for name, field in group.model_fields.items()}
    assert set(lines) == set(known)
    for name, field in known.items():
        assert field.description, name
        assert field.description in lines[name], f"{name}: the page tells something else"


def test_every_group_has_a_prefix_of_its_own() -> None:
    prefixes = [known.model_config.get("env_prefix") for known in GROUPS]
    assert len(set(prefixes)) == len(GROUPS)
    assert all(prefix and prefix.startswith("PARLEY_") for prefix in prefixes)


def test_defaults_load_from_an_empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for group in GROUPS:
        for name in group.model_fields:
            monkeypatch.delenv(variable(group, name), raising=False)
    settings = Settings.load()
    assert settings.api.body_max_bytes == 1_000_000
    assert (settings.worker.lease_s, settings.worker.heartbeat_s) == (30, 10)


def test_lists_are_written_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARLEY_API_CORS_ORIGINS", "https://a.example, https://b.example,")
    monkeypatch.setenv("PARLEY_SECRET_KEYS", "first,second")
    assert ApiSettings().cors_origins == ("https://a.example", "https://b.example")
    assert SecretSettings().revealed() == ("first", "second")


def test_wrong_value_names_its_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARLEY_API_KEY_CACHE_S", "60")
    with pytest.raises(ValidationError, match="key_cache_s"):
        Settings.load()


def test_secrets_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARLEY_DATABASE_URL", "postgresql://u:canary@db/x")
    monkeypatch.setenv("PARLEY_SECRET_KEYS", "canary")
    assert "canary" not in f"{DatabaseSettings()!r} {SecretSettings()!r}"


def test_lower_profiles_stand_in() -> None:
    profile = ProfileSettings(low_user="a", low_judge="b", high_judge="c")
    assert [profile.named(name, "user") for name in ("low", "medium", "high")] == ["a", "a", "a"]
    assert [profile.named(name, "judge") for name in ("low", "medium", "high")] == ["b", "b", "c"]
    assert ProfileSettings().named("high", "user") == ""
