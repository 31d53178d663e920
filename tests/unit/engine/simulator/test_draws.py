"""Draws repeat with their key, and only with it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parley.engine.draws import draw


def numbers(seed: int, turn: int, purpose: str, count: int = 3) -> list[float]:
    drawn = draw(seed, turn, purpose)
    return [drawn.random() for _ in range(count)]


def test_equal_keys_draw_alike_and_others_do_not() -> None:
    keys = [(1, 2, "a"), (2, 2, "a"), (1, 3, "a"), (1, 2, "b"), (12, 2, "a"), (1, 22, "a")]
    assert numbers(1, 2, "a") == numbers(1, 2, "a")
    assert len({tuple(numbers(*key)) for key in keys}) == len(keys)


def test_one_draw_gives_many_numbers() -> None:
    assert len(set(numbers(1, 1, "a", 100))) == 100


def test_numbers_are_the_same_for_ever() -> None:
    """A stored run that is resumed after an upgrade has to speak as it did before."""
    assert numbers(42, 7, "trait/tone") == [0.6705202313039434, 0.8397974554433302, 0.12114543367452324]
    assert [draw(42, 7, "trait/tone").below(bound) for bound in (1, 2, 10, 1000)] == [0, 1, 6, 670]


def test_numbers_are_the_same_in_another_process() -> None:
    code = "from parley.engine.draws import draw; print(draw(5, 1, 'x').random())"
    printed = {subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout}
    assert printed == {f"{draw(5, 1, 'x').random()}\n"}


@settings(deadline=None)
@given(seed=st.integers(0, 2**53 - 1), turn=st.integers(0, 64), bound=st.integers(1, 50))
def test_numbers_stay_in_their_range(seed: int, turn: int, bound: int) -> None:
    drawn = draw(seed, turn, "p")
    assert 0 <= drawn.random() < 1
    assert 0 <= drawn.below(bound) < bound


def test_every_number_below_the_bound_comes_about_equally_often() -> None:
    counts = [0] * 5
    for seed in range(5000):
        counts[draw(seed, 1, "p").below(5)] += 1
    assert all(850 <= count <= 1150 for count in counts)


@pytest.mark.parametrize("bound", [0, -1])
def test_nothing_lies_below_zero(bound: int) -> None:
    with pytest.raises(ValueError, match=r"^nothing lies below"):
        draw(1, 1, "p").below(bound)
