"""From a score to where a conversation stands, and when it ends. Pure arithmetic on decimals."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Protocol

from parley.engine.events import EndReason, EndState, Opinion, Outcome, Standing, Verdict
from parley.engine.spec import REQUIRED_LOSS_STREAK, Spec

LOWEST_SCORE = Decimal("0.001")
HIGHEST_SCORE = Decimal("0.999")
"""Scores are clamped between these two (product contract)."""
START_DELTA = Decimal("0.5")
"""The conversation_delta before any opinion (product contract)."""

_ZERO, _ONE, _TWO = Decimal(0), Decimal(1), Decimal(2)
_EXACT = Context(prec=28, rounding=ROUND_HALF_EVEN)
"""Arithmetic of its own, so that no setting of the process can change a score."""


class Judged(Protocol):
    """What a later turn needs to know of an earlier one: an `Opinion` or a `Trajectory`."""

    @property
    def conversation_delta(self) -> Decimal:
        """How the conversation stood, 0..1."""
        ...

    @property
    def loss_streak(self) -> int:
        """Judged turns in a row, up to that one, that were at or under the loss threshold."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """What follows from one score. Fields as in `Opinion`."""

    score: Decimal
    turn_delta: Decimal
    conversation_delta: Decimal
    loss_streak: int
    required_loss_streak: int
    state: Standing
    passed: bool
    should_continue: bool


def judged(spec: Spec, score: Decimal, before: Judged | None, turn: int, exited: bool) -> Trajectory:
    """What a `score` (0..1) given at `turn` means after `before`, the latest earlier opinion.

    `exited` tells that the simulated user left at this turn.
    """
    score = _clamped(score, LOWEST_SCORE, HIGHEST_SCORE)
    turn_delta = _EXACT.subtract(_EXACT.multiply(_TWO, score), _ONE)
    delta = _moved(before.conversation_delta if before else START_DELTA, turn_delta)
    is_low = score <= spec.loss_threshold and delta <= spec.loss_threshold
    streak = (before.loss_streak if before else 0) + 1 if is_low else 0
    state = _standing(spec, score, delta, streak)
    return Trajectory(
        score=score,
        turn_delta=turn_delta,
        conversation_delta=delta,
        loss_streak=streak,
        required_loss_streak=REQUIRED_LOSS_STREAK,
        state=state,
        passed=state != "loss",
        should_continue=state in ("active", "at_risk") and not exited and turn < spec.max_turns,
    )


def judge_is_due(spec: Spec, turn: int, exited: bool) -> bool:
    """Whether the judge is asked at `turn`: from its start turn on, at an exit, at the last turn."""
    return exited or turn >= spec.judge_start_turn or turn >= spec.max_turns


def verdict_of(spec: Spec, opinion: Opinion | None, turn: int, exited: bool) -> Verdict | None:
    """How the conversation ends after `turn`, or None when it goes on.

    `opinion` is the latest one, None without any. Of several ends at one turn the first of success,
    loss, exit and last turn counts.
    """
    if opinion is not None and opinion.state == "success":
        return _verdict("success", "baseline_reached", "success", turn, opinion)
    if opinion is not None and opinion.state == "loss":
        return _verdict("loss", "loss_threshold_persisted", "loss", turn, opinion)
    if exited:
        return _verdict("incomplete", "simulated_user_ended_conversation", "ended", turn, opinion)
    if turn >= spec.max_turns:
        return _verdict("incomplete", "max_turns_reached", "max_turns", turn, opinion)
    return None


def _standing(spec: Spec, score: Decimal, delta: Decimal, streak: int) -> Standing:
    if score >= spec.base_threshold:
        return "success"
    if streak >= REQUIRED_LOSS_STREAK:
        return "loss"
    if score <= spec.loss_threshold or delta <= spec.loss_threshold:
        return "at_risk"
    return "active"


def _moved(delta: Decimal, turn_delta: Decimal) -> Decimal:
    return _clamped(_EXACT.add(delta, _EXACT.divide(turn_delta, _TWO)), _ZERO, _ONE)


def _clamped(value: Decimal, low: Decimal, high: Decimal) -> Decimal:
    return low if value < low else high if value > high else _EXACT.plus(value)


def _verdict(
    outcome: Outcome, reason: EndReason, state: EndState, turn: int, opinion: Opinion | None
) -> Verdict:
    delta = opinion.conversation_delta if opinion else START_DELTA
    return Verdict(
        outcome=outcome,
        reason=reason,
        state=state,
        turn_number=turn,
        score=delta if opinion else None,
        conversation_delta=delta,
        loss_streak=opinion.loss_streak if opinion else 0,
    )
