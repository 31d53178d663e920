"""Whether a conversation may go on."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from parley.server.conversation.guard import (
    ACCOUNT_SUSPENDED,
    BALANCE_EXHAUSTED,
    CANCELLED,
    HANDED_OVER,
    TIME_LIMIT,
    ConversationGuard,
)
from parley.server.journal.keep import Standing

GOOD = Standing(balance=Decimal("0.000000001"), account_active=True, metered=True, cancel_requested=False)


async def test_good_account_goes_on() -> None:
    guard = ConversationGuard(GOOD)
    assert await guard.may_start_turn(1) is None
    assert guard.stopped() is None


@pytest.mark.parametrize("balance", ["0", "-0.5"])
async def test_turn_needs_a_positive_balance(balance: str) -> None:
    guard = ConversationGuard(replace(GOOD, balance=Decimal(balance)))
    assert await guard.may_start_turn(2) is BALANCE_EXHAUSTED
    assert guard.stopped() is None, "a begun turn is finished"


async def test_unmetered_plan_needs_no_balance() -> None:
    guard = ConversationGuard(replace(GOOD, balance=Decimal(-1), metered=False))
    assert await guard.may_start_turn(2) is None


async def test_suspended_account_starts_no_turn_whatever_its_plan() -> None:
    guard = ConversationGuard(replace(GOOD, account_active=False, metered=False))
    assert await guard.may_start_turn(2) is ACCOUNT_SUSPENDED


async def test_standing_is_that_of_the_latest_entry() -> None:
    guard = ConversationGuard(GOOD)
    guard.standing = replace(GOOD, balance=Decimal(0))
    assert await guard.may_start_turn(2) is BALANCE_EXHAUSTED


async def test_first_reason_to_stop_stands_and_interrupts_once() -> None:
    guard, interrupts = ConversationGuard(GOOD), list[str]()
    guard.on_stop(lambda: interrupts.append("now"))
    for stop in (HANDED_OVER, CANCELLED, TIME_LIMIT):
        guard.stop(stop)
    assert guard.stopped() is HANDED_OVER
    assert await guard.may_start_turn(2) is HANDED_OVER
    assert interrupts == ["now"]


def test_stop_before_anybody_listens_is_kept() -> None:
    guard = ConversationGuard(GOOD)
    guard.stop(CANCELLED)
    assert guard.stopped() is CANCELLED
