"""Seeds of runs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from parley.server.runs.start import SEED_BOUND
from parley.server.suites.seeds import seed_of


def test_seeds_differ_by_case_and_repetition_and_evaluation() -> None:
    seeds = {
        seed_of(seed, f"case {case}", repetition)
        for seed in range(3)
        for case in range(50)
        for repetition in range(1, 21)
    }
    assert len(seeds) == 3 * 50 * 20


def test_seed_is_the_same_for_ever() -> None:
    assert seed_of(7, "01a22cd1-1c69-7435-8e3a-8a2be0d79950", 1) == 8981642787597872


@given(seed=st.integers(0, SEED_BOUND - 1), case=st.text(min_size=1), repetition=st.integers(1, 20))
def test_seed_lies_in_bounds(seed: int, case: str, repetition: int) -> None:
    found = seed_of(seed, case, repetition)
    assert 0 <= found < SEED_BOUND
    assert found == seed_of(seed, case, repetition)
