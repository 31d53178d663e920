"""Which traits the simulated user has at a turn."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache

from parley.engine.draws import Draw, draw
from parley.engine.simulator.catalogue import CATALOGUE
from parley.engine.spec import UserSampling

_TRAITS_PER_TOP_K = 5
"""Active traits are `top_k` times this many, rounded (product contract)."""
_REMEMBERED = 4096
"""Draws kept in memory, some hundred bytes each: the traits of a few hundred conversations."""


@dataclass(frozen=True, slots=True)
class Trait:
    """One dimension of how people write, at one of its levels."""

    dimension: str
    level: str
    instruction: str


@lru_cache(_REMEMBERED)
def active_count(top_k: float) -> int:
    """How many traits are active: `top_k * 5`, a half rounded up, so that 0.1 gives one trait, not none.

    Counted in decimals: 0.3 * 5 is 1.5 for the person who wrote it, whatever binary floats make of it.
    At most as many as there are dimensions.
    """
    exact = Decimal(str(top_k)) * _TRAITS_PER_TOP_K
    return min(int(exact.to_integral_value(ROUND_HALF_UP)), len(CATALOGUE))


def traits_at(seed: int, turn: int, sampling: UserSampling) -> tuple[Trait, ...]:
    """The traits at `turn` (from 1), in the order of the catalogue.

    Which dimensions are active is drawn once for the conversation; between turns each of them moves,
    with probability `max_decay`, to another of its levels. A larger `top_k` adds traits to those of a
    smaller one. The same arguments always give the same traits.
    """
    return tuple(
        _trait(place, _level_at(seed, turn, sampling.max_decay, place))
        for place in _active(seed, active_count(sampling.top_k))
    )


@lru_cache(_REMEMBERED)
def _active(seed: int, count: int) -> tuple[int, ...]:
    """Places in the catalogue."""
    chance = draw(seed, 0, "traits")
    left = list(range(len(CATALOGUE)))
    return tuple(sorted(left.pop(chance.below(len(left))) for _ in range(count)))


@lru_cache(_REMEMBERED)
def _level_at(seed: int, turn: int, max_decay: float, place: int) -> int:
    """The level's number. Remembered, so that a turn takes one draw and not one for each turn before."""
    count = len(CATALOGUE[place].levels)
    if turn <= 1 or max_decay <= 0:
        return _draw(seed, 1, place).below(count)
    before, chance = _level_at(seed, turn - 1, max_decay, place), _draw(seed, turn, place)
    return (before + 1 + chance.below(count - 1)) % count if chance.random() < max_decay else before


def _draw(seed: int, turn: int, place: int) -> Draw:
    return draw(seed, turn, f"trait/{CATALOGUE[place].name}")


def _trait(place: int, at: int) -> Trait:
    dimension = CATALOGUE[place]
    level = dimension.levels[at]
    return Trait(dimension.name, level.name, level.instruction)
