"""Profiles: which llms play the simulated user and the judge, and at which price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from parley.server.llm.endpoint import LlmEndpoint
from parley.server.llm.prices import Prices

ProfileName: TypeAlias = Literal["low", "medium", "high"]
Seat: TypeAlias = Literal["user", "judge"]

PROFILE_NAMES: Final[tuple[ProfileName, ...]] = ("low", "medium", "high")
SEATS: Final[tuple[Seat, ...]] = ("user", "judge")

DEMO_LLMS: Final[Mapping[Seat, str]] = MappingProxyType({"user": "demo-user", "judge": "demo-judge"})
"""The shipped scripted llms, as the local stack seats them."""
NOBODY: Final = "not-configured"
"""Stands where the operator has named no llm; nothing is started with it."""

DEFAULT_PRICES: Final[Mapping[tuple[ProfileName, Seat], Prices]] = MappingProxyType(
    {
        # Product contract, section 7.
        ("low", "user"): Prices.of("0.25", "0.025", "1.50"),
        ("low", "judge"): Prices.of("0.30", "0.03", "2.50"),
        ("medium", "user"): Prices.of("0.75", "0.075", "3.75"),
        ("medium", "judge"): Prices.of("0.75", "0.075", "3.75"),
        ("high", "user"): Prices.of("0.75", "0.075", "3.75"),
        ("high", "judge"): Prices.of("1.25", "0.15", "4.25"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedLlm:
    """An llm of the operator's and what its tokens cost an account."""

    endpoint: LlmEndpoint
    prices: Prices


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The two llms beside the system under test."""

    name: ProfileName
    user: PricedLlm
    judge: PricedLlm


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatValues:
    """One seat of one profile as configured: the llm's name, and its prices if not the default."""

    model: str
    prices: Prices | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileValues:
    """All that profiles are made of. `seats` names every profile and seat."""

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    seats: Mapping[tuple[ProfileName, Seat], SeatValues]


def profiles_of(values: ProfileValues) -> Mapping[ProfileName, Profile]:
    """The three profiles. Raises `ValueError` naming the first seat that is not configured."""
    return {
        name: Profile(name=name, user=_seated(values, name, "user"), judge=_seated(values, name, "judge"))
        for name in PROFILE_NAMES
    }


def _seated(values: ProfileValues, name: ProfileName, seat: Seat) -> PricedLlm:
    given = values.seats.get((name, seat))
    if given is None or not given.model:
        raise ValueError(f"Profile {name} has no llm for the {seat}.")
    endpoint = LlmEndpoint(base_url=values.base_url, api_key=values.api_key, model=given.model)
    return PricedLlm(endpoint=endpoint, prices=given.prices or DEFAULT_PRICES[name, seat])
