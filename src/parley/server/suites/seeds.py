"""Seeds of runs. Pure."""

from __future__ import annotations

from parley.engine.draws import Draw
from parley.server.runs.start import SEED_BOUND


def seed_of(evaluation_seed: int, case_id: str, repetition: int) -> int:
    """The seed of one repetition of a case: another for each, the same whenever it is asked for."""
    return Draw(f"{evaluation_seed}/{case_id}/{repetition}").below(SEED_BOUND)
