"""Profiles and integrated llms, made from values."""

from __future__ import annotations

from decimal import Decimal

import pytest

from parley.server.llm.endpoint import LlmEndpoint
from parley.server.llm.integrated import IntegratedLlm, IntegratedLlms, is_integrated
from parley.server.llm.prices import FREE, Prices
from parley.server.llm.profiles import (
    PROFILE_NAMES,
    SEATS,
    ProfileName,
    ProfileValues,
    Seat,
    SeatValues,
    profiles_of,
)


def values(**changed: SeatValues) -> ProfileValues:
    seats: dict[tuple[ProfileName, Seat], SeatValues] = {
        (name, seat): changed.get(f"{name}_{seat}", SeatValues(model=f"{name}-{seat}"))
        for name in PROFILE_NAMES
        for seat in SEATS
    }
    return ProfileValues(base_url="http://llm.example/v1", api_key="common", seats=seats)


@pytest.mark.parametrize(
    ("name", "seat", "prices"),
    [
        ("low", "user", "0.25 0.025 1.50"),
        ("low", "judge", "0.30 0.03 2.50"),
        ("medium", "user", "0.75 0.075 3.75"),
        ("medium", "judge", "0.75 0.075 3.75"),
        ("high", "user", "0.75 0.075 3.75"),
        ("high", "judge", "1.25 0.15 4.25"),
    ],
)
def test_seats_have_the_contracts_prices(name: ProfileName, seat: Seat, prices: str) -> None:
    profile = profiles_of(values())[name]
    llm = profile.user if seat == "user" else profile.judge
    assert llm.endpoint.model == f"{name}-{seat}"
    assert llm.endpoint.api_key == "common"
    assert llm.prices == Prices.of(*prices.split())


def test_seat_may_have_its_own_prices() -> None:
    own = SeatValues(model="x", prices=Prices(output=Decimal(9)))
    judge = profiles_of(values(high_judge=own))["high"].judge
    assert judge.prices.output == 9
    assert judge.prices.input == 0


def test_seat_without_an_llm_is_named() -> None:
    with pytest.raises(ValueError, match="medium has no llm for the judge"):
        profiles_of(values(medium_judge=SeatValues(model="")))


def integrated(slug: str) -> IntegratedLlm:
    return IntegratedLlm(slug=slug, endpoint=LlmEndpoint(base_url="http://a.example", model="m"), prices=FREE)


def test_integrated_llm_is_found_by_its_slug() -> None:
    llms = IntegratedLlms([integrated("@acme/chat-1"), integrated("@acme/chat-2")])
    found = llms.find("@acme/chat-2")
    assert found is not None
    assert found.slug == "@acme/chat-2"
    assert llms.find("@acme/chat-3") is None
    assert [llm.slug for llm in llms] == ["@acme/chat-1", "@acme/chat-2"]
    assert is_integrated("@acme/chat-2")
    assert not is_integrated("support:1a2b")


@pytest.mark.parametrize("slug", ["acme/chat", "@acme", "@/chat", "@Acme/chat", "@acme/a/b", "@acme/a b"])
def test_malformed_slug_is_refused(slug: str) -> None:
    with pytest.raises(ValueError, match="@vendor/name"):
        IntegratedLlms([integrated(slug)])


def test_slug_is_offered_once() -> None:
    with pytest.raises(ValueError, match="twice"):
        IntegratedLlms([integrated("@acme/chat"), integrated("@acme/chat")])
