"""What plays attempts: one player for each kind of target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeAlias

from parley.engine.script.attempt import Tell
from parley.engine.script.draft import AttemptPlan
from parley.engine.script.record import AttemptRecord
from parley.server.attempts.playing import Playing
from parley.server.attempts.schemas import TargetKind


class Player(Protocol):
    """Plays attempts at one kind of target."""

    @property
    def resumes(self) -> bool:
        """Whether an attempt that another worker began, and was lost over, can be gone on with.

        Where not, it ends as an error with the evidence that was kept, unless its case is replay safe.
        """
        ...

    async def play(self, attempt: Playing, plan: AttemptPlan, tell: Tell) -> AttemptRecord:
        """The whole record. What is told is kept, step by step.

        `attempt.stopping` is the wish to end early. Raises `LeaseLost` when somebody else has it, and
        nothing for what the target does. Cancelling the task leaves the attempt to another worker.
        """
        ...


Players: TypeAlias = Mapping[TargetKind, Player]
