"""The tools an agent called against those it should have called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from parley.engine.checks.shapes import Mode


def fits(called: Sequence[str], expected: Sequence[str], mode: Mode) -> bool:
    """Whether the names `called` relate to `expected` as `mode` says. Repetitions count."""
    one, other = Counter(called), Counter(expected)
    if mode == "strict":
        return list(called) == list(expected)
    if mode == "unordered":
        return one == other
    return one <= other if mode == "subset" else one >= other
