"""Hooks and runs as they are watched."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from structlog.contextvars import bound_contextvars, get_contextvars

from parley.engine.events import Ended, Failure, Verdict
from parley.engine.fakes import QuietHooks
from parley.engine.ports import HookAnswer
from parley.engine.spec import Hook
from parley.server.conversation.guard import ConversationGuard
from parley.server.journal.keep import Lease, Standing
from parley.server.runs.claim import Claimed
from parley.server.runs.hold import Prepared
from parley.server.telemetry.metrics import Metrics, outcome_of
from parley.server.telemetry.watched_bus import WatchedBus
from parley.server.telemetry.watched_hooks import WatchedHooks
from parley.server.worker.watch import WatchedPreparation

HOOK = Hook(event="after-test", url="https://example.com/hook")
STANDING = Standing(balance=Decimal(1), account_active=True, metered=True, cancel_requested=False)


class OneAnswer(QuietHooks):
    def __init__(self, answer: HookAnswer) -> None:
        super().__init__()
        self._answer = answer

    async def call(self, hook: Hook, index: int, turn: int, data: dict[str, Any]) -> HookAnswer:
        return self._answer


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (HookAnswer(continued=True, status=200), "continued"),
        (HookAnswer(continued=False, status=403), "refused"),
        (HookAnswer(continued=False, error="No answer within 10 seconds."), "failed"),
        (HookAnswer(continued=False, status=200, error="The answer is larger."), "failed"),
    ],
)
async def test_hooks_are_counted_by_what_came_of_them(answer: HookAnswer, outcome: str) -> None:
    metrics = Metrics()
    assert await WatchedHooks(OneAnswer(answer), metrics, None).call(HOOK, 0, 1, {}) is answer
    labels = {"event": "after-test", "outcome": outcome}
    assert metrics.registry.get_sample_value("parley_hook_calls_total", labels) == 1
    assert metrics.registry.get_sample_value("parley_hook_seconds_count", {"event": "after-test"}) == 1


def ended(**how: Any) -> Ended:
    return Ended(at_ms=0, **how)


def test_end_is_told_in_one_word() -> None:
    verdict = Verdict(
        outcome="loss",
        reason="loss_threshold_persisted",
        state="loss",
        turn_number=2,
        score=Decimal("0.1"),
        conversation_delta=Decimal("0.1"),
        loss_streak=2,
    )
    failure = Failure(code="time_limit", message="Too long.", scope="user_inference", turn=1)
    assert outcome_of(ended(verdict=verdict)) == "loss"
    assert outcome_of(ended(failure=failure)) == "failed"
    assert outcome_of(ended(cancelled=True)) == "cancelled"


class KnownPreparation:
    """Notes what the log would tell."""

    seen: dict[str, Any]

    async def prepare(self, claimed: Claimed, guard: ConversationGuard) -> Prepared | Ended:
        self.seen = dict(get_contextvars())
        return ended(cancelled=True)


def claimed(*, taken_over: bool) -> Claimed:
    return Claimed(
        lease=Lease(account_id=uuid4(), run_id=uuid4(), token=uuid4(), seconds=30),
        test_id=uuid4(),
        definition={},
        seed=1,
        external_user_id=None,
        last_seq=0,
        age_s=0.0,
        taken_over=taken_over,
        standing=STANDING,
        multiplier=Decimal(1),
    )


@pytest.mark.parametrize(("taken_over", "how"), [(False, "given"), (True, "taken_over")])
async def test_run_names_itself_in_the_log_and_is_counted_once(taken_over: bool, how: str) -> None:
    metrics, run = Metrics(), claimed(taken_over=taken_over)
    bus = WatchedBus(None, "test", metrics, None)  # type: ignore[arg-type]
    known = KnownPreparation()
    watched = WatchedPreparation(known, bus)
    with bound_contextvars(run_id="", account_id=""):
        for _ in range(2):  # the database was away, and it is prepared again
            await watched.prepare(run, ConversationGuard(STANDING))
    assert known.seen["run_id"] == str(run.lease.run_id)
    assert known.seen["account_id"] == str(run.lease.account_id)
    assert metrics.registry.get_sample_value("parley_runs_claimed_total", {"how": how}) == 1
    bus.kept(run.lease.run_id, 1, ended(cancelled=True))
    bus.forget(run.lease.run_id)
    assert (
        metrics.registry.get_sample_value("parley_runs_ended_total", {"outcome": "cancelled", "code": ""})
        == 1
    )
