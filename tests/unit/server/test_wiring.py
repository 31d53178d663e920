"""What the wiring makes of settings."""

from __future__ import annotations

import dataclasses
from decimal import Decimal

import pytest

from parley.server.config import LlmSettings, ProfileSettings, Settings
from parley.server.llm.prices import Prices
from parley.server.llm.profiles import DEFAULT_PRICES, NOBODY, PROFILE_NAMES, SEATS
from parley.server.wiring import offer_of


def _settings(monkeypatch: pytest.MonkeyPatch, **environment: str) -> Settings:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return dataclasses.replace(Settings.load(), llm=LlmSettings(), profile=ProfileSettings())


def test_prices_of_a_seat_replace_the_usual_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = _settings(monkeypatch, PARLEY_PROFILE_PRICES='{"low_judge": ["1", "0.1", "2.5"]}')
    low = offer_of(settings).profiles["low"]
    assert low.judge.prices == Prices(input=Decimal(1), cached=Decimal("0.1"), output=Decimal("2.5"))
    assert low.user.prices == DEFAULT_PRICES["low", "user"]


def test_prices_of_a_seat_that_does_not_exist_stop_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = _settings(monkeypatch, PARLEY_PROFILE_PRICES='{"lo_judge": [1, 0, 2]}')
    with pytest.raises(ValueError, match="lo_judge"):
        offer_of(settings)


@pytest.mark.parametrize(
    ("base_url", "names", "playable"),
    [
        ("", {}, set()),
        ("", {"low_user": "u", "low_judge": "j"}, set()),
        ("http://127.0.0.1:1/v1", {}, set()),
        ("http://127.0.0.1:1/v1", {"low_user": "u"}, set()),
        ("http://127.0.0.1:1/v1", {"low_user": "u", "low_judge": "j"}, {"low", "medium", "high"}),
        ("http://127.0.0.1:1/v1", {"low_user": "u", "high_judge": "j"}, {"high"}),
    ],
)
def test_nobody_plays_where_no_llm_is_named(
    monkeypatch: pytest.MonkeyPatch, base_url: str, names: dict[str, str], playable: set[str]
) -> None:
    settings = dataclasses.replace(
        _settings(monkeypatch),
        llm=LlmSettings(base_url=base_url),
        profile=ProfileSettings.model_validate(names),
    )
    found = offer_of(settings)
    assert found.playable == playable
    seated = {getattr(found.profiles[name], seat).endpoint.model for name in PROFILE_NAMES for seat in SEATS}
    assert seated <= {*names.values(), NOBODY}, "no demo llm is named by itself"


def test_integrated_llms_come_from_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    llms = (
        '[{"slug": "@acme/chat", "base_url": "http://127.0.0.1:1/v1", "model": "chat-1", "api_key": "k",'
        ' "input": "0.5", "cached": "0.05", "output": "1.5"}]'
    )
    found = offer_of(_settings(monkeypatch, PARLEY_LLM_INTEGRATED=llms)).integrated.find("@acme/chat")
    assert found is not None
    assert (found.endpoint.model, found.endpoint.api_key) == ("chat-1", "k")
    assert found.prices == Prices(input=Decimal("0.5"), cached=Decimal("0.05"), output=Decimal("1.5"))


def test_malformed_slug_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    llms = '[{"slug": "acme", "base_url": "http://127.0.0.1:1/v1", "model": "chat-1"}]'
    with pytest.raises(ValueError, match="@vendor/name"):
        offer_of(_settings(monkeypatch, PARLEY_LLM_INTEGRATED=llms))
