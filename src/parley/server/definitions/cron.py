"""Which schedules are accepted, and when they fire: five classic fields in UTC, decided over the fields.

What is accepted here is what croniter is handed afterwards, spelled out: it takes far more by itself.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Final

from croniter import croniter

LONGEST_CRON = 100
"""Characters of a schedule: a generous bound on five fields."""
SHORTEST_GAP_MIN = 5
"""Minutes between two starts of one test, anywhere in its schedule (product contract)."""

_DAY_MIN = 24 * 60
_MOST_YEARS = 50
"""Between two fires: 29 February on one weekday comes after 40 years at most."""
_PART = re.compile(
    r"(?P<any>\*)?(?P<low>[0-9]+|[a-z]{3})?(?:-(?P<high>[0-9]+|[a-z]{3}))?(?:/(?P<step>[0-9]+))?",
    re.ASCII | re.IGNORECASE,
)


class CronRefused(ValueError):
    """The text is no schedule; the message says why, to be read behind the field's name."""


@dataclass(frozen=True, slots=True)
class _Field:
    """One of the five: its values lie within low..high, or are called by name."""

    name: str
    low: int
    high: int
    names: Mapping[str, int] = field(default_factory=dict)


def _named(names: str, first: int) -> dict[str, int]:
    return {name: number for number, name in enumerate(names.split(), first)}


_MINUTE = _Field("minute", 0, 59)
_HOUR = _Field("hour", 0, 23)
_DAY = _Field("day of month", 1, 31)
_MONTH = _Field("month", 1, 12, _named("jan feb mar apr may jun jul aug sep oct nov dec", 1))
_WEEKDAY = _Field("day of week", 0, 6, _named("sun mon tue wed thu fri sat", 0))
_SUNDAY_AGAIN: Final = 7
_FIELDS = (_MINUTE, _HOUR, _DAY, _MONTH, _WEEKDAY)

ALL_HOURS = frozenset(range(24))
ALL_DAYS = frozenset(range(1, 32))
ALL_MONTHS = frozenset(range(1, 13))
ALL_WEEKDAYS = frozenset(range(7))
"""Sunday is 0."""

_LONGEST_MONTH = {month: 31 - (month in (4, 6, 9, 11)) - 2 * (month == 2) for month in ALL_MONTHS}


def _neighbours() -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Every day of a common and of a leap year with the day after it, as (month, day)."""
    for number in range(365 + 366):
        day = date(2023, 1, 1) + timedelta(days=number)
        after = day + timedelta(days=1)
        yield (day.month, day.day), (after.month, after.day)


_NEIGHBOURS = frozenset(_neighbours())


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """An accepted spelling as sets of values; Sunday is 0."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool
    """Whether a day counts by its date or by its weekday; else it has to fit both."""

    @property
    def times(self) -> list[int]:
        """The minutes of a day at which it fires, ascending."""
        return sorted(60 * hour + minute for hour in self.hours for minute in self.minutes)

    def fires_on(self, month: int, day: int, weekday: int) -> bool:
        """Whether a day with this date and weekday is one of its days."""
        by_date, by_weekday = day in self.days, weekday in self.weekdays
        fits = by_date or by_weekday if self.either_day else by_date and by_weekday
        return fits and month in self.months


def read_pattern(text: str) -> Pattern:
    """Read a schedule. Raises `CronRefused` for what is misspelled, never fires or fires too often."""
    pattern = _spelled(text)
    if not pattern.either_day and not any(
        day <= _LONGEST_MONTH[month] for month in pattern.months for day in pattern.days
    ):
        raise CronRefused("never fires: none of these months has such a day")
    for first, second in _too_close(pattern):
        gap = (second - first) % _DAY_MIN
        raise CronRefused(
            f"starts at {clock(first)} and again {gap} minute{'s' * (gap > 1)} later, at {clock(second)}; "
            f"at least {SHORTEST_GAP_MIN} minutes have to lie between two starts, "
            "also where the hour or the day turns"
        )
    return pattern


def cron_problem(text: str) -> str | None:
    """Why `text` is no schedule, or None. Five fields are wanted: minute, hour, day, month, weekday."""
    try:
        read_pattern(text)
    except CronRefused as refused:
        return str(refused)
    return None


def next_fires(text: str, after: datetime, count: int) -> list[datetime]:
    """The next `count` times after `after`, which is in UTC. Raises `CronRefused`."""
    pattern = read_pattern(text)
    times = croniter(
        _spelled_out(pattern), after, day_or=pattern.either_day, max_years_between_matches=_MOST_YEARS
    )
    return [times.get_next(datetime) for _ in range(count)]


def count_fires(text: str, after: datetime, until: datetime) -> int:
    """How many times it fires later than `after` and not later than `until`. Raises `CronRefused`."""
    pattern = read_pattern(text)
    times = pattern.times
    first, last = after.date(), until.date()
    days = (first + timedelta(days=number) for number in range((last - first).days))
    whole_days = sum(pattern.fires_on(day.month, day.day, day.isoweekday() % 7) for day in days)
    return whole_days * len(times) + _passed(pattern, times, until) - _passed(pattern, times, after)


def clock(minute_of_day: int) -> str:
    """A time of day as people write it."""
    return f"{minute_of_day // 60:02}:{minute_of_day % 60:02}"


def _passed(pattern: Pattern, times: list[int], moment: datetime) -> int:
    """How many times of its own day have come by `moment`."""
    if not pattern.fires_on(moment.month, moment.day, moment.isoweekday() % 7):
        return 0
    return bisect_right(times, 60 * moment.hour + moment.minute)


def _spelled(text: str) -> Pattern:
    if len(text) > LONGEST_CRON:
        raise CronRefused(f"must have at most {LONGEST_CRON} characters")
    if text.lstrip().startswith("@"):
        raise CronRefused(
            "must be written as five fields; names such as @daily are not taken, write '0 0 * * *'"
        )
    written = re.split(r"[ \t]+", text.strip(" \t"))
    if len(written) != len(_FIELDS) or not written[0]:
        raise CronRefused(
            f"must have five fields: minute, hour, day of month, month, day of week; this has "
            f"{len(written) if written[0] else 'none'}"
        )
    minutes, hours, days, months, weekdays = (
        _values(one, part) for one, part in zip(_FIELDS, written, strict=True)
    )
    either = not written[2].startswith("*") and not written[4].startswith("*")
    if either and (days == ALL_DAYS or weekdays == ALL_WEEKDAYS):
        either, days, weekdays = False, ALL_DAYS, ALL_WEEKDAYS
    return Pattern(
        minutes=minutes, hours=hours, days=days, months=months, weekdays=weekdays, either_day=either
    )


def _values(of: _Field, written: str) -> frozenset[int]:
    values: set[int] = set()
    for part in written.split(","):
        values.update(_range(of, part))
    return frozenset(value % _SUNDAY_AGAIN if of is _WEEKDAY else value for value in values)


def _range(of: _Field, part: str) -> range:
    """The values of one part of a list: `*`, `5`, `mon`, `1-5`, each range with or without `/step`."""
    match = _PART.fullmatch(part)
    if match is None or bool(match["any"]) == bool(match["low"]) or (match["any"] and match["high"]):
        raise CronRefused(f"{of.name}: {part!r} is not understood; {_takes(of)}")
    if match["any"]:
        low, high = of.low, of.high
    else:
        low = _value(of, match["low"])
        high = _value(of, match["high"] or match["low"])
        if (match["high"] or "").lower() == "sun" and low > 0:
            high = _SUNDAY_AGAIN
    if low > high:
        raise CronRefused(f"{of.name}: the range {part!r} runs backwards; write it as two ranges")
    return range(low, high + 1, _step(of, part, match["step"], match["any"] or match["high"], high - low + 1))


def _value(of: _Field, written: str) -> int:
    if not written.isdigit():
        if written.lower() not in of.names:
            raise CronRefused(f"{of.name}: {written!r} is not understood; {_takes(of)}")
        return of.names[written.lower()]
    highest = _SUNDAY_AGAIN if of is _WEEKDAY else of.high
    if not of.low <= int(written) <= highest:
        raise CronRefused(f"{of.name}: {written} is not within {of.low}..{highest}")
    return int(written)


def _step(of: _Field, part: str, written: str | None, is_range: str | None, size: int) -> int:
    if written is None:
        return 1
    if not is_range:
        raise CronRefused(f"{of.name}: {part!r} has a step but no range; write it as in '*/15' or '5-59/15'")
    if not 1 <= int(written) <= size:
        raise CronRefused(f"{of.name}: the step of {part!r} is not within 1..{size}, the size of its range")
    return int(written)


def _takes(of: _Field) -> str:
    names = f", names ({', '.join(of.names)})" if of.names else ""
    return f"it takes '*', numbers{names}, ranges, steps such as '*/2', and lists of them"


def _too_close(pattern: Pattern) -> Iterator[tuple[int, int]]:
    """Times of day that follow each other too soon, the last and the first of two days among them."""
    times = pattern.times
    yield from (pair for pair in pairwise(times) if pair[1] - pair[0] < SHORTEST_GAP_MIN)
    if times[0] + _DAY_MIN - times[-1] < SHORTEST_GAP_MIN and _has_consecutive_days(pattern):
        yield times[-1], times[0]


def _has_consecutive_days(pattern: Pattern) -> bool:
    """Whether it fires on two days in a row, ever: each date falls on each weekday in some year."""
    return any(
        pattern.fires_on(*day, weekday) and pattern.fires_on(*after, (weekday + 1) % 7)
        for day, after in _NEIGHBOURS
        for weekday in ALL_WEEKDAYS
    )


def _spelled_out(pattern: Pattern) -> str:
    """The pattern in the plainest spelling there is: a star for all values, else a list of numbers."""
    sets = (
        (pattern.minutes, None),
        (pattern.hours, ALL_HOURS),
        (pattern.days, ALL_DAYS),
        (pattern.months, ALL_MONTHS),
        (pattern.weekdays, ALL_WEEKDAYS),
    )
    return " ".join("*" if values == every else ",".join(map(str, sorted(values))) for values, every in sets)
