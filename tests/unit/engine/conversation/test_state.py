"""The fold of entries."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from parley.engine.chat.pieces import Usage
from parley.engine.events import AssistantSpoke, Ended, HookCalled, Opinion, Spent, Timing, UserSpoke
from parley.engine.messages import Text
from parley.engine.state import RESPONSE_FORMAT_REFUSED, WORKER_LOST, State, fold

USAGE = Usage(model="m")
AT = Timing(at_ms=1, took_ms=1)
USER = UserSpoke(turn=1, parts=(Text(text="Hi"),), usage=USAGE, timing=AT)
ANSWER = AssistantSpoke(turn=1, round=1, parts=(Text(text="Hello"),), usage=USAGE, timing=AT)
OPINION = Opinion(
    turn=1,
    reasoning="ok",
    score=Decimal("0.5"),
    turn_delta=Decimal(0),
    conversation_delta=Decimal("0.5"),
    loss_streak=0,
    required_loss_streak=2,
    state="active",
    passed=True,
    should_continue=True,
    usage=USAGE,
    timing=AT,
)
RETRIED = Spent(
    role="judge",
    turn=1,
    attempt=1,
    reason="retried",
    code="http_error",
    error="Bad gateway",
    will_retry=True,
    usage=None,
    at_ms=1,
)
UNREADABLE = replace(RETRIED, code="opinion_malformed", error="No JSON.")
HANDED_OVER = replace(RETRIED, reason="handed_over", code="handed_over", error="Stopping.")
LOST = replace(RETRIED, reason="handed_over", code=WORKER_LOST)
HOOK = HookCalled(index=0, event="before-inference", turn=1, url="u", called=True, continued=True, at_ms=1)


def test_sequence_counts_every_entry() -> None:
    assert fold([USER, RETRIED, HOOK, ANSWER, OPINION, Ended(at_ms=1, cancelled=True)]).seq == 6


def test_exchange_gathers_what_was_said_at_a_turn() -> None:
    state = fold([USER, ANSWER, replace(ANSWER, round=2), OPINION, replace(USER, turn=2)])
    first, second = state.exchanges
    assert (first.user, len(first.rounds), first.opinion) == (USER, 2, OPINION)
    assert (second.turn, second.rounds, state.current) == (2, (), second)
    assert state.opinion == OPINION


def test_spent_attempt_begins_its_turn() -> None:
    state = fold([USER, ANSWER, OPINION, replace(RETRIED, role="user", turn=2)])
    assert (state.turn, state.current) == (2, None)


def test_faults_are_those_of_the_step_under_way() -> None:
    assert fold([USER, ANSWER, RETRIED, RETRIED]).faults == 2
    assert fold([USER, ANSWER, RETRIED, OPINION]).faults == 0


def test_rejected_reply_gives_the_next_one_its_own_attempts() -> None:
    nudged = replace(RETRIED, role="user", reason="nudged", code="reply_empty")
    state = fold([replace(RETRIED, role="user"), nudged])
    assert (state.faults, state.rejections) == (0, ("reply_empty",))
    assert fold([nudged, USER]).rejections == ()


def test_stopped_attempts_do_not_count_as_faults() -> None:
    assert fold([RETRIED, HANDED_OVER, LOST, replace(RETRIED, reason="cancelled")]).faults == 1


def test_judge_is_told_only_what_was_wrong_with_its_own_reply() -> None:
    assert fold([USER, ANSWER, RETRIED]).problem is None
    assert fold([USER, ANSWER, UNREADABLE]).problem == "No JSON."
    assert fold([USER, ANSWER, UNREADABLE, RETRIED, HANDED_OVER]).problem == "No JSON."
    assert fold([USER, ANSWER, UNREADABLE, OPINION]).problem is None


def test_refused_schema_is_remembered_for_the_run() -> None:
    refused = replace(RETRIED, code=RESPONSE_FORMAT_REFUSED)
    assert fold([USER, ANSWER, refused, OPINION, replace(USER, turn=2)]).schema_refused
    assert not fold([USER, ANSWER, RETRIED, OPINION]).schema_refused


def test_takeovers_count_until_something_new_is_kept() -> None:
    assert fold([LOST, LOST, LOST]).takeovers == 3
    assert fold([LOST, HANDED_OVER, LOST]).takeovers == 2
    for progress in (USER, ANSWER, OPINION, HOOK, RETRIED, UNREADABLE):
        assert fold([LOST, LOST, progress]).takeovers == 0


def test_state_is_not_changed_by_what_follows() -> None:
    state = fold([USER])
    state.after(ANSWER)
    assert state == fold([USER])
    assert State() == fold([])
