"""A schedule in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from parley.server.definitions.cron import (
    ALL_DAYS,
    ALL_HOURS,
    ALL_MONTHS,
    ALL_WEEKDAYS,
    Pattern,
    clock,
    read_pattern,
)

_MOST_TIMES = 4
"""Times of day that are still told one by one."""
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def described(text: str) -> str:
    """A schedule as a person would say it, such as "every day at 06:30 UTC". Raises `CronRefused`."""
    pattern = read_pattern(text)
    days, months = _days(pattern), _months(pattern)
    if pattern.hours == ALL_HOURS and not days and not months:
        return f"{_within_hour(pattern.minutes)} (UTC)"
    dated = " ".join(part for part in (days or "every day", months) if part)
    return f"{dated} {_times(pattern)} UTC"


def _times(pattern: Pattern) -> str:
    times = pattern.times
    if len(times) <= _MOST_TIMES:
        return f"at {_listed(map(clock, times))}"
    within = _within_hour(pattern.minutes)
    if pattern.hours == ALL_HOURS:
        return within
    return f"{within} in the hours {_spans(sorted(pattern.hours))}"


def _within_hour(minutes: frozenset[int]) -> str:
    step = 60 // len(minutes)
    if len(minutes) > 1 and minutes == frozenset(range(0, 60, step)):
        return f"every {step} minutes"
    return f"every hour at minute{'s' * (len(minutes) > 1)} {_listed(map(str, sorted(minutes)))}"


def _days(pattern: Pattern) -> str:
    """Empty for every day."""
    several = "s" * (len(pattern.days) > 1)
    dates = "" if pattern.days == ALL_DAYS else f"on day{several} {_spans(sorted(pattern.days))} of the month"
    weekdays = "" if pattern.weekdays == ALL_WEEKDAYS else f"on {_weekdays(pattern.weekdays)}"
    if dates and weekdays:
        return f"{dates} and {weekdays}" if pattern.either_day else f"{weekdays}, if {dates},"
    return dates or weekdays


def _weekdays(numbers: frozenset[int]) -> str:
    """Weeks begin on Monday."""
    week = sorted(numbers, key=lambda number: (number - 1) % 7)
    if week == [1, 2, 3, 4, 5]:
        return "Monday to Friday"
    return _listed(f"{_WEEKDAYS[number]}s" for number in week)


def _months(pattern: Pattern) -> str:
    if pattern.months == ALL_MONTHS:
        return ""
    return f"in {_listed(_MONTHS[number - 1] for number in sorted(pattern.months))}"


def _spans(numbers: Sequence[int]) -> str:
    """Ascending numbers, those that follow each other drawn together: 1-5, 9 and 20."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    return _listed(f"{span[0]}-{span[-1]}" if len(span) > 1 else f"{span[0]}" for span in spans)


def _listed(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
