"""Grades here what an app could not have graded while the service was out of its reach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from parley.engine.ports import Clock
from parley.engine.script.attempt import Tell
from parley.engine.script.draft import AttemptPlan
from parley.engine.script.grading import Grading
from parley.engine.script.later import grade_later, is_owed
from parley.engine.script.ports import Limits
from parley.engine.script.record import AttemptRecord
from parley.server.attempts.gateway.judge import ChargedJudge
from parley.server.attempts.playing import Playing
from parley.server.attempts.ports import Player
from parley.server.errors import LlmsNotConfigured
from parley.server.script_judge.judge import ScriptJudges, Seat, watched
from parley.server.telemetry.watch import UNWATCHED, Watch

_LIMITS: Final = Limits()


class GradedHere:
    """A player whose attempts leave nothing ungraded that the service was to grade."""

    def __init__(self, player: Player, judges: ScriptJudges, clock: Clock, watch: Watch = UNWATCHED) -> None:
        self._player = player
        self._judges = judges
        self._clock = clock
        self._watch = watch

    @property
    def resumes(self) -> bool:
        """As the player's own."""
        return self._player.resumes

    async def play(self, attempt: Playing, plan: AttemptPlan, tell: Tell) -> AttemptRecord:
        """As the port says. What was graded stays; another judge than the pinned one grades nothing."""
        record = await self._player.play(attempt, plan, tell)
        seat = self._seat(attempt.work.judge)
        if seat is None or seat.identity != plan.judge or not is_owed(record):
            return record
        grading = Grading(
            judge=ChargedJudge(self._judges, watched(seat, self._watch), attempt),
            clock=self._clock,
            limit_s=_LIMITS.judge_s,
            grace_s=_LIMITS.cleanup_s,
            stopping=attempt.stopping,
        )
        return await grade_later(record, plan.case, grading)

    def _seat(self, judge: Mapping[str, Any] | None) -> Seat | None:
        if judge is None or "profile" not in judge:
            return None
        try:
            return self._judges.seat(judge["profile"])
        except LlmsNotConfigured:
            return None
