"""What repetitions of one case tell: pass^k, pass@k, and which cases are flaky."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

MAX_K = 20
"""The largest k that is told, the most repetitions an evaluation takes."""
_Chance: TypeAlias = Callable[[int, int, int], Fraction]


@dataclass(frozen=True, slots=True)
class AtK:
    """One value of a curve over k. `value` lies in 0..1."""

    k: int
    value: Fraction


def all_of_k(passed: int, total: int, k: int) -> Fraction:
    """pass^k: the chance that `k` repetitions, drawn from `total` without putting back, all passed."""
    _check(passed, total, k)
    return Fraction(math.comb(passed, k), math.comb(total, k))


def any_of_k(passed: int, total: int, k: int) -> Fraction:
    """pass@k: the chance that at least one of `k` repetitions, drawn likewise, passed."""
    _check(passed, total, k)
    return 1 - Fraction(math.comb(total - passed, k), math.comb(total, k))


def pass_hat_k(cases: Sequence[Sequence[bool]]) -> tuple[AtK, ...]:
    """pass^k as the mean over `cases` (the verdicts of each), for every k that all of them can tell."""
    return _curve(cases, all_of_k)


def pass_at_k(cases: Sequence[Sequence[bool]]) -> tuple[AtK, ...]:
    """pass@k likewise."""
    return _curve(cases, any_of_k)


def is_flaky(verdicts: Sequence[bool]) -> bool:
    """Whether some repetitions of a case passed and some did not."""
    return len(set(verdicts)) > 1


def _curve(cases: Sequence[Sequence[bool]], chance: _Chance) -> tuple[AtK, ...]:
    counted = [(sum(verdicts), len(verdicts)) for verdicts in cases if verdicts]
    longest = min((total for _, total in counted), default=0)
    return tuple(
        AtK(k, sum((chance(passed, total, k) for passed, total in counted), Fraction(0)) / len(counted))
        for k in range(1, min(longest, MAX_K) + 1)
    )


def _check(passed: int, total: int, k: int) -> None:
    if not (0 <= passed <= total and 1 <= k <= total):
        raise ValueError("0 <= passed <= total and 1 <= k <= total must hold")
