"""What entries cost."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from parley.engine.chat.pieces import Usage
from parley.engine.events import Ended, HookCalled, Opinion, Speaking, Spent, Timing, UserSpoke
from parley.engine.messages import Text
from parley.server.conversation.charging import Tariff
from parley.server.llm.prices import FREE, Prices
from tests.unit.engine.conversation.stories import attempts_of, hold, stories

USAGE = Usage(model="m", prompt_tokens=1_000_000, cached_prompt_tokens=500_000, completion_tokens=2_000_000)
TARIFF = Tariff(
    prices={"user": Prices.of("1", "0.5", "2"), "assistant": FREE, "judge": Prices.of("3", "0", "4")},
    multipliers={"user": Decimal("1.25"), "judge": Decimal("1.05")},
)
SPEAKERS: tuple[Speaking, ...] = ("user", "assistant", "judge")
SPOKEN = UserSpoke(turn=1, parts=(Text(text="Hi"),), usage=USAGE, timing=Timing(at_ms=1, took_ms=1))
SPENT = Spent(
    role="judge",
    turn=1,
    attempt=1,
    reason="cut",
    code="stream_cut",
    error="cut",
    will_retry=False,
    usage=USAGE,
    at_ms=1,
)


def test_message_costs_its_tokens_times_the_multiplier() -> None:
    charge = TARIFF.charge(SPOKEN)
    assert charge is not None
    assert (charge.amount, charge.role, charge.usage) == (Decimal("5.9375"), "user", USAGE)


def test_spent_attempt_costs_what_its_speaker_costs() -> None:
    charge = TARIFF.charge(SPENT)
    assert charge is not None
    assert (charge.amount, charge.role) == (Decimal("9.975"), "judge")


def test_attempt_that_brought_nothing_is_not_charged() -> None:
    assert TARIFF.charge(replace(SPENT, usage=None)) is None


def test_hooks_and_the_end_are_no_inference() -> None:
    hook = HookCalled(index=0, event="before-test", turn=0, url="u", called=True, continued=True, at_ms=1)
    assert TARIFF.charge(hook) is None
    assert TARIFF.charge(Ended(at_ms=1, cancelled=True)) is None


def test_unmetered_plan_is_charged_nothing_and_still_counted() -> None:
    charge = replace(TARIFF, metered=False).charge(SPOKEN)
    assert charge is not None
    assert (charge.amount, charge.usage) == (Decimal(0), USAGE)


async def test_every_attempt_is_charged_at_most_once() -> None:
    run = await hold(stories()["rich"])
    charges = [charge for entry in run.entries if (charge := TARIFF.charge(entry))]
    attempts = sum(attempts_of(role, run.entries) for role in SPEAKERS)
    free = sum(spent.usage is None for spent in run.spent)
    assert len(charges) == attempts - free
    assert free > 0
    assert any(isinstance(entry, Opinion) for entry in run.entries)


def test_charge_names_an_llm_as_the_account_knows_it() -> None:
    spent = replace(SPENT, role="assistant")
    named = replace(TARIFF, names={"assistant": "@acme/chat"}).charge(spent)
    assert named is not None
    assert named.usage == replace(USAGE, model="@acme/chat")
    assert TARIFF.charge(spent) == replace(named, usage=USAGE)
