"""From scores to standing and end: the contract's table, its edges, and what must hold for any scores."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parley.engine.chat.pieces import Usage
from parley.engine.events import Opinion, Standing, Timing
from parley.engine.judging.trajectory import Trajectory, judge_is_due, judged, verdict_of
from parley.engine.spec import Spec

SPEC = Spec(goal="g", seed=1, max_turns=10)


@dataclass(frozen=True)
class Before:
    conversation_delta: Decimal
    loss_streak: int = 0


def at(
    score: str, before: Before | Trajectory | None = None, *, turn: int = 3, exited: bool = False
) -> Trajectory:
    return judged(SPEC, Decimal(score), before, turn, exited)


def opinion(state: Standing, delta: str = "0.7", streak: int = 0) -> Opinion:
    return Opinion(
        turn=3,
        reasoning="r",
        score=Decimal("0.5"),
        turn_delta=Decimal(0),
        conversation_delta=Decimal(delta),
        loss_streak=streak,
        required_loss_streak=2,
        state=state,
        passed=state != "loss",
        should_continue=False,
        usage=Usage(model="m"),
        timing=Timing(at_ms=0, took_ms=0),
    )


@pytest.mark.parametrize(
    ("score", "clamped", "turn_delta", "delta"),
    [
        ("0.5", "0.5", "0", "0.5"),
        ("0.7", "0.7", "0.4", "0.7"),
        ("0.3", "0.3", "-0.4", "0.3"),
        ("0", "0.001", "-0.998", "0.001"),
        ("1", "0.999", "0.998", "0.999"),
        ("0.001", "0.001", "-0.998", "0.001"),
        ("0.999", "0.999", "0.998", "0.999"),
        ("0.0009", "0.001", "-0.998", "0.001"),
        ("0.9991", "0.999", "0.998", "0.999"),
        ("0.002", "0.002", "-0.996", "0.002"),
    ],
)
def test_first_opinion_moves_the_conversation_from_the_middle(
    score: str, clamped: str, turn_delta: str, delta: str
) -> None:
    got = at(score)
    assert (got.score, got.turn_delta, got.conversation_delta) == (
        Decimal(clamped),
        Decimal(turn_delta),
        Decimal(delta),
    )


@pytest.mark.parametrize(
    ("before", "score", "delta"),
    [
        ("0.9", "0.8", "1"),
        ("0.1", "0.2", "0"),
        ("0.9", "0.6", "1"),
        ("0.1", "0.4", "0"),
        ("0.6", "0.45", "0.55"),
    ],
)
def test_conversation_delta_adds_up_and_stays_between_0_and_1(before: str, score: str, delta: str) -> None:
    assert at(score, Before(Decimal(before))).conversation_delta == Decimal(delta)


@pytest.mark.parametrize(
    ("score", "before", "streak", "expected"),
    [
        ("0.2", "0.5", 0, 1),  # both exactly at the threshold
        ("0.2001", "0.4", 0, 0),  # the score alone is above
        ("0.15", "0.6", 0, 0),  # the conversation alone is above
        ("0.15", "0.5500001", 0, 0),
        ("0.15", "0.55", 0, 1),
        ("0.15", "0.3", 1, 2),
        ("0.15", "0.3", 2, 3),
        ("0.5", "0.1", 1, 0),  # a better turn ends the streak
    ],
)
def test_loss_streak_counts_only_turns_low_in_both(
    score: str, before: str, streak: int, expected: int
) -> None:
    assert at(score, Before(Decimal(before), streak)).loss_streak == expected


@pytest.mark.parametrize(
    ("score", "before", "streak", "state"),
    [
        ("0.9", "0.5", 0, "success"),
        ("0.8999", "0.5", 0, "active"),
        ("0.9", "0", 5, "success"),  # success goes before everything
        ("0.1", "0.3", 1, "loss"),
        ("0.1", "0.3", 0, "at_risk"),
        ("0.2", "0.9", 0, "at_risk"),  # the score alone
        ("0.21", "0.9", 0, "active"),
        ("0.5", "0.2", 1, "at_risk"),  # the conversation alone
        ("0.5", "0.2001", 1, "active"),
    ],
)
def test_standing_follows_its_order(score: str, before: str, streak: int, state: str) -> None:
    got = at(score, Before(Decimal(before), streak))
    assert (got.state, got.passed) == (state, state != "loss")


@pytest.mark.parametrize(
    ("score", "turn", "exited", "goes_on"),
    [
        ("0.5", 9, False, True),
        ("0.15", 9, False, True),
        ("0.5", 10, False, False),
        ("0.5", 11, False, False),
        ("0.5", 9, True, False),
        ("0.95", 9, False, False),
    ],
)
def test_conversation_goes_on_unless_something_ends_it(
    score: str, turn: int, exited: bool, goes_on: bool
) -> None:
    assert at(score, turn=turn, exited=exited).should_continue is goes_on


def test_loss_ends_the_conversation() -> None:
    first = at("0.1", turn=1)
    second = at("0.1", first, turn=2)
    assert (first.state, first.should_continue) == ("at_risk", True)
    assert (second.state, second.should_continue, second.passed) == ("loss", False, False)
    assert (second.loss_streak, second.required_loss_streak) == (2, 2)


def test_arithmetic_ignores_the_precision_of_the_process() -> None:
    with localcontext() as context:
        context.prec = 2
        got = at("0.12345", Before(Decimal("0.45678")))
    assert got.conversation_delta == Decimal("0.08023")
    assert got.turn_delta == Decimal("-0.7531")


@pytest.mark.parametrize(
    ("start", "turn", "exited", "due"),
    [
        (1, 1, False, True),
        (4, 3, False, False),
        (4, 4, False, True),
        (4, 5, False, True),
        (4, 2, True, True),
        (9, 8, False, False),
    ],
)
def test_judge_is_due_from_its_start_turn_and_at_an_exit(
    start: int, turn: int, exited: bool, due: bool
) -> None:
    assert judge_is_due(Spec(goal="g", seed=1, judge_start_turn=start), turn, exited) is due


def test_judge_is_due_at_the_last_turn_whatever_its_start_turn() -> None:
    """C019: the last turn is always judged."""
    spec = Spec(goal="g", seed=1, max_turns=3, judge_start_turn=63)
    assert [judge_is_due(spec, turn, False) for turn in (1, 2, 3)] == [False, False, True]


@pytest.mark.parametrize(
    ("state", "turn", "exited", "expected"),
    [
        ("success", 10, True, ("success", "baseline_reached", "success")),
        ("success", 2, False, ("success", "baseline_reached", "success")),
        ("loss", 10, True, ("loss", "loss_threshold_persisted", "loss")),
        ("loss", 2, False, ("loss", "loss_threshold_persisted", "loss")),
        ("active", 10, True, ("incomplete", "simulated_user_ended_conversation", "ended")),
        ("at_risk", 2, True, ("incomplete", "simulated_user_ended_conversation", "ended")),
        ("active", 10, False, ("incomplete", "max_turns_reached", "max_turns")),
        ("at_risk", 11, False, ("incomplete", "max_turns_reached", "max_turns")),
    ],
)
def test_verdict_takes_the_first_end_that_holds(
    state: Standing, turn: int, exited: bool, expected: tuple[str, str, str]
) -> None:
    """C017, C019: a talk that never ends by itself ends at the last turn."""
    verdict = verdict_of(SPEC, opinion(state, "0.64", 1), turn, exited)
    assert verdict is not None
    assert (verdict.outcome, verdict.reason, verdict.state) == expected
    assert (verdict.turn_number, verdict.score, verdict.conversation_delta) == (
        turn,
        Decimal("0.64"),
        Decimal("0.64"),
    )
    assert verdict.loss_streak == 1


@pytest.mark.parametrize("state", ["active", "at_risk", None])
def test_without_an_end_there_is_no_verdict(state: Standing | None) -> None:
    assert verdict_of(SPEC, opinion(state) if state else None, 9, False) is None


@pytest.mark.parametrize(("turn", "exited"), [(2, True), (10, False)])
def test_verdict_without_an_opinion_has_no_score(turn: int, exited: bool) -> None:
    verdict = verdict_of(SPEC, None, turn, exited)
    assert verdict is not None
    assert (verdict.score, verdict.conversation_delta, verdict.loss_streak) == (None, Decimal("0.5"), 0)


SCORES = st.decimals(0, 1, places=4) | st.decimals(0, 1)
THRESHOLDS = st.tuples(st.integers(1, 88), st.integers(11, 98)).map(
    lambda pair: (Decimal(pair[0]) / 100, Decimal(min(99, pair[0] + pair[1])) / 100)
)


@settings(deadline=None)
@given(scores=st.lists(SCORES, min_size=1, max_size=12), thresholds=THRESHOLDS, max_turns=st.integers(2, 12))
def test_any_scores_keep_the_promises_of_the_contract(
    scores: list[Decimal], thresholds: tuple[Decimal, Decimal], max_turns: int
) -> None:
    loss, base = thresholds
    spec = Spec(goal="g", seed=1, max_turns=max_turns, loss_threshold=loss, base_threshold=base)
    before: Trajectory | None = None
    for turn, score in enumerate(scores, start=1):
        got = judged(spec, score, before, turn, False)
        start = before.conversation_delta if before else Decimal("0.5")
        assert Decimal("0.001") <= got.score <= Decimal("0.999")
        assert got.turn_delta == 2 * got.score - 1
        assert got.conversation_delta == min(max(start + got.turn_delta / 2, Decimal(0)), Decimal(1))
        low = got.score <= loss and got.conversation_delta <= loss
        assert got.loss_streak == ((before.loss_streak if before else 0) + 1 if low else 0)
        assert (got.state == "success") == (got.score >= base)
        assert (got.state == "loss") == (got.loss_streak >= 2 and got.score < base)
        assert got.passed == (got.state != "loss")
        assert got.should_continue == (got.state in ("active", "at_risk") and turn < max_turns)
        before = got


@settings(deadline=None)
@given(score=SCORES, exited=st.booleans(), turn=st.integers(1, 10), before=st.decimals(0, 1, places=3))
def test_opinion_and_verdict_agree_on_going_on(
    score: Decimal, exited: bool, turn: int, before: Decimal
) -> None:
    got = judged(SPEC, score, Before(before, 1), turn, exited)
    verdict = verdict_of(SPEC, opinion(got.state, str(got.conversation_delta)), turn, exited)
    assert got.should_continue == (verdict is None)
