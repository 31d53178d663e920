"""McNemar's exact test: did verdicts change more one way than the other?"""

from __future__ import annotations

import math


def mcnemar(fell: int, rose: int) -> float:
    """The two-sided p-value for `fell` cases that passed before only and `rose` that pass now only.

    1 where none changed. Raises ValueError for negative counts.
    """
    if fell < 0 or rose < 0:
        raise ValueError("counts are not negative")
    changed, fewer = fell + rose, min(fell, rose)
    tail = sum(math.comb(changed, count) for count in range(fewer + 1))
    return min(1.0, 2 * tail / (1 << changed))
