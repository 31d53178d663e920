"""When somebody is told of a run: by table, and whatever the order of ends."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.server.kit.ids import new_id
from parley.server.notifications.policy import Health, RunEnd, Wishes, after

START = datetime(2027, 1, 31, 12, tzinfo=UTC)
ENDS = {
    "f": ("failed", None),
    "i": ("failed", "interrupted"),
    "c": ("cancelled", None),
    "s": ("succeeded", "success"),
    "l": ("succeeded", "loss"),
    "n": ("succeeded", "incomplete"),
}
SHORT = {"test.failing": "F", "test.recovered": "R", "behaviour.lost": "L", "behaviour.regained": "G"}


def end(letter: str, minute: int = 0) -> RunEnd:
    state, outcome = ENDS[letter]
    return RunEnd(run_id=new_id(), state=state, outcome=outcome, at=START + timedelta(minutes=minute))


def story(ends: str, wishes: Wishes, health: Health | None = None) -> list[str]:
    """What is told after each run, in letters."""
    told = []
    health = health or Health()
    for minute, letter in enumerate(ends):
        health, news = after(health, wishes, end(letter, minute))
        told.append("".join(SHORT[kind] for kind in news))
    return told


TABLE: list[tuple[str, dict[str, Any], list[str]]] = [
    ("f", {}, ["F"]),
    ("fff", {}, ["F", "", ""]),
    ("fsfs", {}, ["F", "R", "F", "R"]),
    ("ffs", {"threshold": 3}, ["", "", ""]),
    ("ffffs", {"threshold": 3}, ["", "", "F", "", "R"]),
    ("ffsff", {"threshold": 3}, ["", "", "", "", ""]),
    ("s", {}, [""]),
    ("fss", {}, ["F", "R", ""]),
    # Cancelled runs neither count nor reset.
    ("fcf", {"threshold": 2}, ["", "", "F"]),
    ("fcs", {}, ["F", "", "R"]),
    ("ccc", {}, ["", "", ""]),
    # A run that a hook has interrupted is a failed one.
    ("i", {}, ["F"]),
    # Loss and incomplete are no failures, and end a streak of them.
    ("ln", {}, ["", ""]),
    ("fl", {}, ["F", "R"]),
    ("flf", {"threshold": 2}, ["", "", ""]),
    # Switches.
    ("fff", {"failure": False}, ["", "", ""]),
    ("fs", {"failure": False}, ["", ""]),
    ("fsf", {"recovery": False}, ["F", "", "F"]),
    # Behaviour turns.
    ("sls", {}, ["", "", ""]),
    ("sls", {"outcome": True}, ["", "L", "G"]),
    ("sns", {"outcome": True}, ["", "L", "G"]),
    ("slnls", {"outcome": True}, ["", "L", "", "", "G"]),
    ("lns", {"outcome": True}, ["", "", ""]),
    ("sfcl", {"outcome": True}, ["", "F", "", "RL"]),
    ("slfs", {"outcome": True}, ["", "L", "F", "RG"]),
    ("slsls", {"outcome": True}, ["", "L", "G", "L", "G"]),
]


@pytest.mark.parametrize(("ends", "wishes", "told"), TABLE, ids=lambda value: str(value))
def test_what_is_told_after_each_run(ends: str, wishes: dict[str, Any], told: list[str]) -> None:
    """C199."""
    assert story(ends, Wishes(**wishes)) == told


def test_streak_remembers_its_beginning_and_is_forgotten_with_a_success() -> None:
    health, _ = after(Health(), Wishes(), end("f", 3))
    health, _ = after(health, Wishes(), end("f", 5))
    assert (health.failures, health.failing_since) == (2, START + timedelta(minutes=3))
    assert health.alerted_at == START + timedelta(minutes=3)
    health, _ = after(health, Wishes(), end("s", 7))
    assert health == Health(last_outcome="success")


def test_threshold_lowered_below_the_count_alerts_at_the_next_failure() -> None:
    health, _ = after(Health(failures=3), Wishes(threshold=9), end("f"))
    assert after(health, Wishes(threshold=2), end("f"))[1] == ("test.failing",)


def test_alerts_switched_on_during_a_streak_alert_at_the_next_failure() -> None:
    health, _ = after(Health(), Wishes(failure=False), end("f"))
    assert after(health, Wishes(), end("f"))[1] == ("test.failing",)


def test_recovery_is_told_although_alerts_were_switched_off_since() -> None:
    health, _ = after(Health(), Wishes(), end("f"))
    assert list(after(health, Wishes(failure=False), end("s"))[1]) == ["test.recovered"]


def test_turn_that_was_not_told_has_no_way_back_to_tell() -> None:
    health, _ = after(Health(last_outcome="success"), Wishes(), end("l"))
    assert list(after(health, Wishes(outcome=True), end("s"))[1]) == []


def test_without_readers_nothing_counts_as_told() -> None:
    health, news = after(Health(), Wishes(), end("f"), has_readers=False)
    assert (list(news), health.failures, health.alerted_at) == ([], 1, None)
    assert list(after(health, Wishes(), end("s"))[1]) == []
    assert list(after(health, Wishes(), end("f"))[1]) == ["test.failing"]


LETTERS = st.text(alphabet="".join(ENDS), max_size=40)
WISHES = st.builds(
    Wishes, failure=st.booleans(), threshold=st.integers(1, 4), recovery=st.booleans(), outcome=st.booleans()
)


@given(LETTERS, WISHES)
def test_news_alternate_whatever_happens(ends: str, wishes: Wishes) -> None:
    """C199: at most one alert for each streak, no recovery without one, no turn twice."""
    for bad, good in (("F", "R"), ("L", "G")):
        told = [letter for news in story(ends, replace(wishes, recovery=True)) for letter in news]
        mine = [letter for letter in told if letter in (bad, good)]
        assert all(one != other for one, other in pairwise(mine))
        assert mine[:1] in ([], [bad])


@given(LETTERS, WISHES)
def test_one_alert_for_each_long_enough_streak(ends: str, wishes: Wishes) -> None:
    streaks = "".join("f" if e in "fi" else "" if e == "c" else "s" for e in ends).split("s")
    expected = sum(len(streak) >= wishes.threshold for streak in streaks) if wishes.failure else 0
    assert "".join(story(ends, wishes)).count("F") == expected


@given(LETTERS, WISHES, st.data())
def test_cancelled_runs_change_nothing(ends: str, wishes: Wishes, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(ends)))
    told = story(ends[:place] + "c" + ends[place:], wishes)
    assert told.pop(place) == ""
    assert told == story(ends, wishes)
