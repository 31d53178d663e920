from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from parley.engine.stats.mcnemar import mcnemar


@given(st.integers(0, 200), st.integers(0, 200))
def test_agrees_with_the_binomial_test_of_scipy(fell: int, rose: int) -> None:
    theirs = stats.binomtest(fell, fell + rose).pvalue if fell + rose else 1.0
    assert mcnemar(fell, rose) == pytest.approx(theirs, rel=1e-9)


def test_negative_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="not negative"):
        mcnemar(-1, 2)
