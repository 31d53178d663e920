"""The catalogue of how people write, and which of it is in force at a turn."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parley.engine.simulator.catalogue import CATALOGUE
from parley.engine.simulator.characteristics import Trait, active_count, traits_at
from parley.engine.spec import UserSampling

LEVELS = {dimension.name: [level.name for level in dimension.levels] for dimension in CATALOGUE}


def sampling(top_k: float = 0.4, max_decay: float = 0.02) -> UserSampling:
    return UserSampling(top_k=top_k, max_decay=max_decay)


def dimensions(traits: tuple[Trait, ...]) -> list[str]:
    return [trait.dimension for trait in traits]


def test_catalogue_has_at_least_twelve_dimensions_of_three_to_six_levels() -> None:
    assert len(LEVELS) == len(CATALOGUE) >= 12
    assert all(3 <= len(levels) <= 6 for levels in LEVELS.values())


def test_every_level_is_a_distinct_instruction() -> None:
    instructions = [level.instruction for dimension in CATALOGUE for level in dimension.levels]
    assert len({text.casefold() for text in instructions}) == len(instructions)
    assert all(text.endswith(".") and len(text) > 20 for text in instructions)
    assert all(len(set(levels)) == len(levels) for levels in LEVELS.values())


@pytest.mark.parametrize(
    ("top_k", "count"),
    [
        (0, 0),
        (0.09, 0),
        (0.1, 1),
        (0.3, 2),
        (0.4, 2),
        (0.49, 2),
        (0.5, 3),
        (0.7, 4),
        (1, 5),
        (1.1, 6),
        (2, 10),
    ],
)
def test_halves_are_rounded_up_in_decimals(top_k: float, count: int) -> None:
    assert active_count(top_k) == count
    assert len(traits_at(1, 1, sampling(top_k))) == count


def test_more_traits_than_dimensions_are_all_of_them() -> None:
    assert active_count(100.0) == len(CATALOGUE)


def test_traits_never_move_without_decay() -> None:
    assert len({traits_at(7, turn, sampling(1, 0)) for turn in range(1, 65)}) == 1


def test_every_trait_moves_at_every_turn_with_full_decay() -> None:
    for turn in range(1, 20):
        before, after = traits_at(7, turn, sampling(2, 1)), traits_at(7, turn + 1, sampling(2, 1))
        assert dimensions(before) == dimensions(after)
        assert all(one.level != other.level for one, other in zip(before, after, strict=True))


def test_decay_moves_about_its_share_of_the_traits() -> None:
    moved = sum(
        one != other
        for seed in range(100)
        for one, other in zip(
            traits_at(seed, 10, sampling(2, 0.3)), traits_at(seed, 11, sampling(2, 0.3)), strict=True
        )
    )
    assert 240 <= moved <= 360


def test_all_levels_of_all_dimensions_are_met() -> None:
    met = {
        (trait.dimension, trait.level)
        for seed in range(300)
        for turn in (1, 2)
        for trait in traits_at(seed, turn, sampling(2, 1))
    }
    assert met == {(dimension, level) for dimension, levels in LEVELS.items() for level in levels}


def test_other_seeds_make_other_people() -> None:
    assert len({traits_at(seed, 1, sampling(1)) for seed in range(50)}) > 40


def test_traits_of_a_stored_run_are_the_same_for_ever() -> None:
    told = [f"{trait.dimension}: {trait.level}" for trait in traits_at(42, 9, sampling(0.6, 0.5))]
    assert told == ["patience: ordinary", "expertise: layperson", "formality: polite"]


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**53 - 1),
    turn=st.integers(1, 64),
    top_k=st.floats(0, 2),
    max_decay=st.floats(0, 1),
)
def test_traits_are_a_function_of_their_arguments(
    seed: int, turn: int, top_k: float, max_decay: float
) -> None:
    traits = traits_at(seed, turn, sampling(top_k, max_decay))
    assert traits == traits_at(seed, turn, sampling(top_k, max_decay))
    assert set(traits) <= set(traits_at(seed, turn, sampling(2, max_decay)))
    names = dimensions(traits)
    assert names == [dimension.name for dimension in CATALOGUE if dimension.name in names]
