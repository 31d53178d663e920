"""What an account used: by day, role, llm and test."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final

from parley.server.billing.parts import USAGE_PARTS, UsagePart, parts_of
from parley.server.billing.repository import LedgerRepository
from parley.server.billing.schemas import UsageLine, UsageReport, UsageTotal
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.errors import InvalidRequest

DEFAULT_SPAN: Final = timedelta(days=30)
LONGEST_SPAN: Final = timedelta(days=366)
MOST_LINES: Final = 20_000
"""A report is held in memory while it is written (our choice: some megabytes)."""


async def usage_report(
    session: Session,
    scope: AccountScope,
    time_start: str | None,
    time_end: str | None,
    now: datetime,
    by: str | None = None,
) -> UsageReport:
    """The usage from `time_start` to before `time_end`, by default the 30 days before `now` by all parts.

    Raises `InvalidRequest` for times and parts that cannot be read, more than 366 days, and too many lines.
    """
    parts = _parts(by)
    end = _moment("time_end", time_end) or now
    start = _moment("time_start", time_start) or _before(end)
    if start >= end:
        raise InvalidRequest.field("time_start", "has to be before time_end")
    if end - start > LONGEST_SPAN:
        raise InvalidRequest.field("time_start", f"is more than {LONGEST_SPAN.days} days before time_end")
    rows = await LedgerRepository(session, scope).usage(start, end, parts, MOST_LINES + 1)
    if len(rows) > MOST_LINES:
        raise InvalidRequest.field(
            "time_start", f"makes more than {MOST_LINES} lines; ask for less time, or by fewer parts"
        )
    lines = [UsageLine.model_validate(row) for row in rows]
    return UsageReport(time_start=start, time_end=end, lines=lines, total=_total(lines))


def _parts(by: str | None) -> tuple[UsagePart, ...]:
    try:
        return USAGE_PARTS if by is None else parts_of(by)
    except ValueError:
        problem = f"should be one or more of {', '.join(USAGE_PARTS)}, such as day,role"
        raise InvalidRequest.field("by", problem) from None


def _total(lines: list[UsageLine]) -> UsageTotal:
    return UsageTotal(
        inferences=sum(line.inferences for line in lines),
        estimated=sum(line.estimated for line in lines),
        prompt_tokens=sum(line.prompt_tokens for line in lines),
        cached_prompt_tokens=sum(line.cached_prompt_tokens for line in lines),
        completion_tokens=sum(line.completion_tokens for line in lines),
        cost=sum((line.cost for line in lines), Decimal(0)),
    )


def _before(end: datetime) -> datetime:
    try:
        return end - DEFAULT_SPAN
    except OverflowError:
        raise InvalidRequest.field("time_end", "is too long ago") from None


def _moment(name: str, value: str | None) -> datetime | None:
    """A day (its beginning in UTC) or a time with its offset."""
    if value is None:
        return None
    try:
        if len(value) == len("2027-01-31"):
            day = date.fromisoformat(value)
            return datetime(day.year, day.month, day.day, tzinfo=UTC)
        # In a query a bare "+" means a space.
        moment = datetime.fromisoformat(value.replace(" ", "+"))
        if moment.tzinfo is None:
            raise ValueError(value)
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        problem = "should be a day such as 2027-01-31, or a time such as 2027-01-31T12:00:00Z"
        raise InvalidRequest.field(name, problem) from None
