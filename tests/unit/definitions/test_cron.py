"""The schedule policy: what is refused, and that what is accepted fires when it says."""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.server.definitions.cron import CronRefused, cron_problem, next_fires, read_pattern
from parley.server.definitions.cron_words import described

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

REFUSED = [
    # C131, C132: gaps under five minutes, wherever they are
    ("0,3 * * * *", "starts at 00:00 and again 3 minutes later, at 00:03"),
    ("*/7 * * * *", "starts at 00:56 and again 4 minutes later, at 01:00"),
    ("* * * * *", "1 minute later"),
    ("*/4 * * * *", "4 minutes later"),
    ("59,3 * * * *", "starts at 00:59 and again 4 minutes later, at 01:03"),
    ("0,58 0,23 * * *", "starts at 23:58 and again 2 minutes later, at 00:00"),
    ("0,58 0,23 31,1 * *", "starts at 23:58 and again 2 minutes later"),
    ("0,58 0,23 29,1 2,3 *", "2 minutes later"),
    ("0,58 0,23 28,1 2,3 *", "2 minutes later"),
    ("0,58 0,23 31,1 12,1 *", "2 minutes later"),
    ("0,58 0,23 * * 6,0", "2 minutes later"),
    ("0,58 0,23 15 * 2", "2 minutes later"),
    # dates that no month has, C136
    ("0 0 30 2 *", "never fires"),
    ("0 0 31 4,6,9,11 *", "never fires"),
    ("0 0 31 feb */2", "never fires"),
    # C137, C138: not five fields
    ("", "five fields"),
    ("   ", "five fields"),
    ("0 6 * *", "five fields: minute, hour, day of month, month, day of week; this has 4"),
    ("0 0 6 * * *", "this has 6"),
    ("0 0 6 * * * 2030", "this has 7"),
    ("@hourly", "names such as @daily are not taken"),
    (" @reboot", "names such as @daily are not taken"),
    ("@every 5m", "names such as @daily are not taken"),
    # reversed and oversized, C148
    ("5-1 * * * *", "minute: the range '5-1' runs backwards"),
    ("0 22-6 * * *", "hour: the range '22-6' runs backwards"),
    ("0 0 * nov-feb *", "month: the range 'nov-feb' runs backwards"),
    ("0 0 * * sat-mon", "day of week: the range 'sat-mon' runs backwards"),
    ("0 0 * * 6-0", "runs backwards"),
    ("*/61 * * * *", "minute: the step of '*/61' is not within 1..60"),
    ("0 */25 * * *", "hour: the step of '*/25' is not within 1..24"),
    ("0 0 * * */8", "day of week: the step of '*/8' is not within 1..7"),
    ("0-10/30 * * * *", "minute: the step of '0-10/30' is not within 1..11"),
    ("*/0 * * * *", "not within 1..60"),
    ("60 * * * *", "minute: 60 is not within 0..59"),
    ("0 24 * * *", "hour: 24 is not within 0..23"),
    ("0 0 0 * *", "day of month: 0 is not within 1..31"),
    ("0 0 32 * *", "32 is not within 1..31"),
    ("0 0 * 13 *", "month: 13 is not within 1..12"),
    ("0 0 * 0 *", "month: 0 is not within 1..12"),
    ("0 0 * * 8", "day of week: 8 is not within 0..7"),
    ("0 0 1-32 * *", "32 is not within"),
    # other dialects
    ("0 0 L * *", "day of month: 'L' is not understood"),
    ("0 0 ? * *", "'?' is not understood"),
    ("0 0 15W * *", "'15W' is not understood"),
    ("0 0 * * 5L", "'5L' is not understood"),
    ("0 0 * * mon#2", "'mon#2' is not understood"),
    ("H 6 * * *", "minute: 'H' is not understood"),
    ("R 6 * * *", "minute: 'R' is not understood"),
    ("5/15 * * * *", "write it as in '*/15' or '5-59/15'"),
    # not quite
    ("0 0 * * monday", "'monday' is not understood"),
    ("0 0 * sun *", "month: 'sun' is not understood"),
    ("jan 0 * * *", "minute: 'jan' is not understood"),
    ("0,,30 * * * *", "minute: '' is not understood"),
    (",0 * * * *", "minute: '' is not understood"),
    ("1- 0 * * *", "'1-' is not understood"),
    ("-1 0 * * *", "'-1' is not understood"),
    ("*-5 0 * * *", "'*-5' is not understood"),
    ("*5 0 * * *", "'*5' is not understood"),
    ("*/ 0 * * *", "'*/' is not understood"),
    ("/5 0 * * *", "'/5' is not understood"),
    ("1-5-9 0 * * *", "is not understood"),
    ("1.5 0 * * *", "is not understood"),
    ("+1 0 * * *", "is not understood"),
    ("٣ 0 * * *", "is not understood"),
    ("0 0 * * \u017fun", "is not understood"),
    ("0 6 * * *\n", "is not understood"),
    ("0\u00a06 * * *", "five fields"),
    ("0 6 * * " + "1," * 50 + "1", "at most 100 characters"),
]


@pytest.mark.parametrize(("text", "why"), REFUSED)
def test_refused_with_a_reason_to_act_on(text: str, why: str) -> None:
    problem = cron_problem(text)
    assert problem is not None
    assert why in problem
    with pytest.raises(CronRefused):
        next_fires(text, datetime(2026, 1, 1, tzinfo=UTC), 1)


@pytest.mark.parametrize(
    "text",
    [
        "*/5 * * * *",
        "*/13 * * * *",
        "*/60 * * * *",
        "0 1,23 * * *",
        "59,4 * * * *",
        "0,58 0,23 1,15 * *",
        "0,58 0,23 31,1 1,3 *",
        "0,58 0,23 28,1 2,12 *",
        "0,58 0,23 * * 1,3",
        "0,58 0,23 */2 2 */7",
        "0 0 29 2 *",
        "0 0 30 2 1",
        "0 0 29 2 */7",
        "05 06 * JAN-dec Mon-FRI",
        "0 6 * * fri-sun",
        "0 6 * * 5-7",
        "0 6 * * 0-7",
        "\t0   6\t* * *  ",
        "*/10,5 * * * *",
        "0-59/20 * * * *",
    ],
)
def test_accepted(text: str) -> None:
    assert cron_problem(text) is None


FIRES = [
    ("30 6 * * *", "2026-03-01T06:30", ["2026-03-02T06:30", "2026-03-03T06:30"]),
    ("*/15 * * * *", "2026-12-31T23:50", ["2027-01-01T00:00", "2027-01-01T00:15"]),
    # C140: both days restricted, either fires; a star at the front asks for both
    ("0 0 13 * 5", "2026-02-01T00:00", ["2026-02-06T00:00", "2026-02-13T00:00", "2026-02-20T00:00"]),
    ("0 0 1,20 * mon", "2026-06-14T00:00", ["2026-06-15T00:00", "2026-06-20T00:00", "2026-06-22T00:00"]),
    ("0 0 */2 * 1", "2026-06-01T00:00", ["2026-06-15T00:00", "2026-06-29T00:00", "2026-07-13T00:00"]),
    ("0 0 13 * */5", "2026-06-01T00:00", ["2026-09-13T00:00", "2026-11-13T00:00"]),
    ("0 0 1-31 * 1", "2026-06-01T00:00", ["2026-06-02T00:00", "2026-06-03T00:00"]),
    ("0 0 1 * 0-7", "2026-06-01T00:00", ["2026-06-02T00:00"]),
    ("0 6 * * 7", "2026-06-01T00:00", ["2026-06-07T06:00"]),
    ("0 6 * * fri-sun", "2026-06-06T07:00", ["2026-06-07T06:00", "2026-06-12T06:00"]),
    ("0 0 30 2 1", "2026-02-20T00:00", ["2026-02-23T00:00", "2027-02-01T00:00"]),
    ("0 0 31 * *", "2026-01-31T00:00", ["2026-03-31T00:00", "2026-05-31T00:00"]),
    # C142: UTC has no doubled or skipped hour, whatever the calendar of some country does
    ("30 1,2 * * *", "2026-03-29T00:00", ["2026-03-29T01:30", "2026-03-29T02:30", "2026-03-30T01:30"]),
    # The rarest there is: no leap year in 2100
    ("0 0 29 2 */7", "2088-03-01T00:00", ["2128-02-29T00:00"]),
    ("0 0 29 2 *", "2096-03-01T00:00", ["2104-02-29T00:00"]),
]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(("text", "after", "fires"), FIRES)
def test_next_fires(text: str, after: str, fires: list[str]) -> None:
    assert next_fires(text, at(after), len(fires)) == [at(fire) for fire in fires]


def test_next_fire_is_after_the_moment_to_the_microsecond() -> None:
    due = at("2026-01-01T06:00")
    tiny = timedelta(microseconds=1)
    assert next_fires("0 6 * * *", due - tiny, 1) == [due]
    assert next_fires("0 6 * * *", due, 1) == [due + timedelta(days=1)]
    assert next_fires("0 6 * * *", due + tiny, 1) == [due + timedelta(days=1)]


# An oracle of our own: reads the fields in its own way, and steps minute by minute.


def spelled(low: int, high: int, names: list[str], first: int) -> st.SearchStrategy[str]:
    """Any spelling of one field."""
    number = st.integers(low, high)

    def name(value: int) -> st.SearchStrategy[str]:
        known = [names[value - first], names[value - first].upper()] if names else []
        return st.sampled_from([str(value), f"0{value}", *known])

    span = st.tuples(number, number).map(sorted).map(tuple)
    ranged = span.flatmap(
        lambda pair: st.integers(1, pair[1] - pair[0] + 1).map(lambda step: f"{pair[0]}-{pair[1]}/{step}")
    )
    part = st.one_of(
        number.flatmap(name),
        span.map(lambda pair: f"{pair[0]}-{pair[1]}"),
        ranged,
        st.just("*"),
        st.integers(1, high - low + 1).map(lambda step: f"*/{step}"),
    )
    return st.one_of(st.just("*"), st.lists(part, min_size=1, max_size=3).map(",".join))


def oracle_values(written: str, low: int, high: int, names: list[str], first: int) -> set[int]:
    values: set[int] = set()
    for part in written.lower().split(","):
        span, _, step = part.partition("/")
        start, _, end = span.partition("-")
        if start == "*":
            start, end = str(low), str(high)
        start = str(names.index(start) + first) if start in names else start
        values.update(range(int(start), int(end or start) + 1, int(step or 1)))
    return values


class Oracle:
    """A schedule as crontab(5) tells it."""

    def __init__(self, text: str) -> None:
        minute, hour, day, month, weekday = text.split()
        self.minutes = oracle_values(minute, 0, 59, [], 0)
        self.hours = oracle_values(hour, 0, 23, [], 0)
        self.days = oracle_values(day, 1, 31, [], 1)
        self.months = oracle_values(month, 1, 12, MONTHS, 1)
        self.weekdays = oracle_values(weekday, 0, 6, DAYS, 0)
        self.both = day.startswith("*") or weekday.startswith("*")

    def is_day(self, moment: datetime) -> bool:
        by_date, by_weekday = moment.day in self.days, moment.isoweekday() % 7 in self.weekdays
        fits = by_date and by_weekday if self.both else by_date or by_weekday
        return fits and moment.month in self.months

    def fires(self, after: datetime, until: datetime) -> list[datetime]:
        found = []
        moment = after.replace(second=0, microsecond=0) + timedelta(minutes=1)
        while moment <= until:
            if not self.is_day(moment):
                moment = moment.replace(hour=0, minute=0) + timedelta(days=1)
                continue
            if moment.hour in self.hours and moment.minute in self.minutes:
                found.append(moment)
            moment += timedelta(minutes=1)
        return found


minutes = spelled(0, 59, [], 0)
# Mostly few minutes, so that most patterns pass the five-minute rule.
sparse = st.lists(st.integers(0, 11).map(lambda n: str(n * 5)), min_size=1, max_size=4, unique=True)
days_of = st.tuples(spelled(1, 31, [], 1), spelled(1, 12, MONTHS, 1), spelled(0, 6, DAYS, 0))
patterns = st.tuples(
    st.one_of(minutes, sparse.map(",".join), st.sampled_from(["*/5", "*/13", "*/7", "0,58"])),
    st.one_of(spelled(0, 23, [], 0), st.just("0,23")),
    days_of,
).map(lambda parts: " ".join((parts[0], parts[1], *parts[2])))
moments = st.integers(0, 8 * 366 * 86_400_000).map(
    lambda ms: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
)


@given(text=patterns, after=moments)
def test_accepted_patterns_fire_exactly_when_the_oracle_does(text: str, after: datetime) -> None:
    if cron_problem(text) is not None:
        return
    until = after + timedelta(days=3)
    wanted = Oracle(text).fires(after, until)
    fires = next_fires(text, after, len(wanted) + 1)
    assert fires[:-1] == wanted
    assert fires[-1] > until
    assert all(later - earlier >= timedelta(minutes=5) for earlier, later in pairwise(fires))


@given(text=patterns, after=moments)
def test_next_day_is_the_day_the_oracle_finds(text: str, after: datetime) -> None:
    if cron_problem(text) is not None:
        return
    [fire] = next_fires(text, after, 1)
    oracle = Oracle(text)
    assert oracle.is_day(fire)
    day = after.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    assert not any(oracle.is_day(day + timedelta(days=n)) for n in range((fire - day).days))


@given(text=patterns)
def test_pattern_is_refused_for_its_gap_exactly_if_two_fires_are_that_close(text: str) -> None:
    problem = cron_problem(text) or ""
    if "never" in problem or "characters" in problem:
        return
    oracle = Oracle(text)
    times = sorted(60 * hour + minute for hour in oracle.hours for minute in oracle.minutes)
    close = any(second - first < 5 for first, second in pairwise(times))
    if not close and times[0] + 1440 - times[-1] < 5:
        # 28 years hold every date on every weekday; one check a day is enough for pairs of days.
        start = datetime(2001, 1, 1, tzinfo=UTC)
        days = [oracle.is_day(start + timedelta(days=n)) for n in range(28 * 366)]
        close = any(first and second for first, second in pairwise(days))
    assert ("minutes have to lie between" in problem) == close
    assert bool(problem) == close


@given(text=patterns)
def test_pattern_never_fires_exactly_if_no_month_has_such_a_day(text: str) -> None:
    oracle = Oracle(text)
    can = any(day <= monthrange(2024, month)[1] for month in oracle.months for day in oracle.days)
    by_weekday = not oracle.both and bool(oracle.weekdays)
    problem = cron_problem(text) or ""
    if "characters" not in problem:
        assert ("never" in problem) == (not can and not by_weekday)


@given(text=st.text(st.sampled_from("*/-,0123456789 \tLW#?@jansundec\n"), max_size=30))
def test_any_text_is_accepted_or_refused_and_accepted_ones_fire(text: str) -> None:
    if cron_problem(text) is None:
        assert len(next_fires(text, at("2026-01-01T00:00"), 2)) == 2
        assert described(text)


SAID = [
    ("30 6 * * *", "every day at 06:30 UTC"),
    ("0 6,18 * * *", "every day at 06:00 and 18:00 UTC"),
    ("*/15 * * * *", "every 15 minutes (UTC)"),
    ("5 * * * *", "every hour at minute 5 (UTC)"),
    ("*/60 * * * *", "every hour at minute 0 (UTC)"),
    ("0,20,25 * * * *", "every hour at minutes 0, 20 and 25 (UTC)"),
    ("0 6 * * mon", "on Mondays at 06:00 UTC"),
    ("0 6 * * 0,1", "on Mondays and Sundays at 06:00 UTC"),
    ("*/15 9-17 * * 1-5", "on Monday to Friday every 15 minutes in the hours 9-17 UTC"),
    ("*/10 * * * sat", "on Saturdays every 10 minutes UTC"),
    ("0 0 1 jan,jul *", "on day 1 of the month in January and July at 00:00 UTC"),
    ("0 0 1-7,15 * *", "on days 1-7 and 15 of the month at 00:00 UTC"),
    ("0 0 13 * 5", "on day 13 of the month and on Fridays at 00:00 UTC"),
    ("0 0 */15 * 1", "on Mondays, if on days 1, 16 and 31 of the month, at 00:00 UTC"),
    ("0 7 * 2 *", "every day in February at 07:00 UTC"),
]


@pytest.mark.parametrize(("text", "sentence"), SAID)
def test_schedule_in_words(text: str, sentence: str) -> None:
    assert described(text) == sentence


def test_refused_schedule_has_no_words() -> None:
    with pytest.raises(CronRefused, match="never fires"):
        described("0 0 30 2 *")


def test_pattern_tells_its_times_of_day() -> None:
    assert read_pattern("0,30 6-7 * * *").times == [360, 390, 420, 450]
