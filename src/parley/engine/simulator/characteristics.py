"""Which traits the simulated user has at a turn."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from parley.engine.draws import Draw, draw
from parley.engine.simulator.catalogue import CATALOGUE, Dimension, Level
from parley.engine.spec import UserSampling

_TRAITS_PER_TOP_K = 5
"""Active traits are `top_k` times this many, rounded (product contract)."""


@dataclass(frozen=True, slots=True)
class Trait:
    """One dimension of how people write, at one of its levels."""

    dimension: str
    level: str
    instruction: str


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
        _trait(dimension, _level_at(seed, turn, sampling.max_decay, dimension))
        for dimension in _active(seed, active_count(sampling.top_k))
    )


def _active(seed: int, count: int) -> list[Dimension]:
    chance = draw(seed, 0, "traits")
    left = list(CATALOGUE)
    chosen = {left.pop(chance.below(len(left))).name for _ in range(count)}
    return [dimension for dimension in CATALOGUE if dimension.name in chosen]


def _level_at(seed: int, turn: int, max_decay: float, dimension: Dimension) -> Level:
    count = len(dimension.levels)
    at = _draw(seed, 1, dimension).below(count)
    for later in range(2, turn + 1) if max_decay > 0 else ():
        chance = _draw(seed, later, dimension)
        if chance.random() < max_decay:
            at = (at + 1 + chance.below(count - 1)) % count
    return dimension.levels[at]


def _draw(seed: int, turn: int, dimension: Dimension) -> Draw:
    return draw(seed, turn, f"trait/{dimension.name}")


def _trait(dimension: Dimension, level: Level) -> Trait:
    return Trait(dimension.name, level.name, level.instruction)
