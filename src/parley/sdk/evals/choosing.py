"""Which cases of a suite are to run, how often and how many at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from parley.engine.script.shapes import MAX_REPETITIONS, Case, Suite
from parley.sdk.evals.errors import EvalsMisconfigured

MAX_CONCURRENCY: Final = 100
"""Attempts at once in one process; far more than one agent's process bears."""


def chosen_cases(suite: Suite, case_ids: Sequence[str] | None, split: str | None) -> list[Case]:
    """The cases with these ids and this split; None takes all. Raises `EvalsMisconfigured` for none."""
    known = {case.id for case in suite.cases}
    for case_id in case_ids or ():
        if case_id not in known:
            raise EvalsMisconfigured(f"Suite {suite.id!r} has no case {case_id!r}.")
    cases = [
        case
        for case in suite.cases
        if (case_ids is None or case.id in case_ids) and (split is None or split in case.splits)
    ]
    if not cases:
        raise EvalsMisconfigured(f"No case of suite {suite.id!r} is chosen.")
    return cases


def refuse_out_of_bounds(repetitions: int | None, concurrency: int) -> None:
    """Raise `EvalsMisconfigured` for numbers that cannot be meant."""
    if repetitions is not None and not 1 <= repetitions <= MAX_REPETITIONS:
        raise EvalsMisconfigured(f"Repetitions are 1..{MAX_REPETITIONS}, not {repetitions}.")
    if not 1 <= concurrency <= MAX_CONCURRENCY:
        raise EvalsMisconfigured(f"Concurrency is 1..{MAX_CONCURRENCY}, not {concurrency}.")
