"""The cut-off policy over all states, ages and overrides."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.server.db.tables.runs import OPEN_STATES, STATES
from parley.server.kit.ids import new_id
from parley.server.retention.policy import (
    ENDED_STATES,
    LONGEST_DAYS,
    SHORTEST_DAYS,
    RetentionRules,
    cut_off,
    kept_for,
)
from parley.server.retention.targets import AccountPage, KeptAccount, run_targets

NOW = datetime(2027, 1, 31, 12, 0, 0, tzinfo=UTC)
SHIPPED = RetentionRules(
    executed=timedelta(days=30),
    cancelled=timedelta(days=1),
    accounting=timedelta(days=90),
    notifications=timedelta(days=30),
)
DAYS = st.integers(min_value=SHORTEST_DAYS, max_value=LONGEST_DAYS)
OVERRIDES = st.none() | DAYS
RULES = st.builds(
    RetentionRules,
    executed=DAYS.map(lambda days: timedelta(days=days)),
    cancelled=DAYS.map(lambda days: timedelta(days=days)),
    accounting=DAYS.map(lambda days: timedelta(days=days)),
    notifications=DAYS.map(lambda days: timedelta(days=days)),
)


def goes(state: str, finished_at: datetime, rules: RetentionRules, override_days: int | None) -> bool:
    before = cut_off(state, NOW, rules, override_days)
    return before is not None and finished_at < before


@pytest.mark.parametrize(
    ("state", "days", "is_gone"),
    [
        ("succeeded", 29, False),
        ("succeeded", 31, True),
        ("failed", 29, False),
        ("failed", 31, True),
        ("cancelled", 0, False),
        ("cancelled", 2, True),
    ],
)
def test_rules_as_shipped(state: str, days: int, is_gone: bool) -> None:
    assert goes(state, NOW - timedelta(days=days), SHIPPED, None) is is_gone


@given(st.sampled_from(OPEN_STATES) | st.text(), RULES, OVERRIDES)
def test_what_has_not_ended_never_goes(state: str, rules: RetentionRules, override_days: int | None) -> None:
    if state not in ENDED_STATES:
        assert kept_for(state, rules, override_days) is None
        assert cut_off(state, NOW, rules, override_days) is None


def test_states_are_those_of_runs() -> None:
    assert {*OPEN_STATES, *ENDED_STATES} == set(STATES)


@given(st.sampled_from(ENDED_STATES), RULES, OVERRIDES, st.timedeltas(min_value=timedelta(0)))
def test_a_run_goes_once_and_only_once_its_time_is_over(
    state: str, rules: RetentionRules, override_days: int | None, since: timedelta
) -> None:
    kept = kept_for(state, rules, override_days)
    assert kept is not None
    since = min(since, timedelta(days=LONGEST_DAYS + 1))
    assert goes(state, NOW - since, rules, override_days) is (since > kept)


@given(RULES, OVERRIDES)
def test_a_cancelled_run_never_outlives_one_that_was_carried_out(
    rules: RetentionRules, override_days: int | None
) -> None:
    cancelled = kept_for("cancelled", rules, override_days)
    assert cancelled is not None
    for state in ("succeeded", "failed"):
        executed = kept_for(state, rules, override_days)
        assert executed is not None
        assert timedelta(0) < cancelled <= executed
    assert cancelled <= rules.cancelled


@given(st.sampled_from(("succeeded", "failed")), RULES, DAYS)
def test_an_override_is_followed_to_the_day(state: str, rules: RetentionRules, days: int) -> None:
    assert kept_for(state, rules, days) == timedelta(days=days)


@given(st.sampled_from(ENDED_STATES), RULES, DAYS, DAYS)
def test_a_longer_override_never_removes_more(state: str, rules: RetentionRules, one: int, two: int) -> None:
    shorter, longer = sorted((one, two))
    early, late = cut_off(state, NOW, rules, longer), cut_off(state, NOW, rules, shorter)
    assert early is not None
    assert late is not None
    assert early <= late < NOW


def test_every_account_of_a_page_has_its_own_times() -> None:
    page = AccountPage([KeptAccount(new_id(), None), KeptAccount(new_id(), 365)], NOW)
    found = {(target.account_id, target.state): NOW - target.before for target in run_targets(page, SHIPPED)}
    assert [found[account.id, "failed"].days for account in page.accounts] == [30, 365]
    assert [found[account.id, "cancelled"].days for account in page.accounts] == [1, 1]
    assert len(found) == 2 * len(ENDED_STATES)
