"""When a call is sent again, and after which wait. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from email.utils import parsedate_to_datetime

_NOTHING_WAS_DONE = frozenset({429, 503})
"""The service says so: these answers leave nothing half-made, so that any call may be sent again."""
_MAY_PASS = frozenset({408, 500, 502, 504})
"""The call may have been carried out; only a repeatable one is sent again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how patiently. Waits double from `base_s` to `longest_s`, half of each by chance.

    A `Retry-After` is honoured up to `longest_asked_s`; a longer one is the caller's to decide. The
    default spans one window of a plan's runs per minute.
    """

    retries: int = 4
    base_s: float = 0.5
    longest_s: float = 8.0
    longest_asked_s: float = 65.0

    def wait_s(self, retry: int, chance: float, retry_after_s: float | None = None) -> float | None:
        """The wait before the retry of this number, from 1; None to give up. `chance` is in 0..1."""
        if retry > self.retries:
            return None
        if retry_after_s is not None:
            return None if retry_after_s > self.longest_asked_s else max(retry_after_s, 0.0)
        return float(min(self.base_s * 2 ** (retry - 1), self.longest_s)) * (0.5 + chance / 2)


def may_repeat(status: int, *, is_repeatable: bool) -> bool:
    """Whether an answer of this status may be met by sending the call again."""
    return status in _NOTHING_WAS_DONE or (is_repeatable and status in _MAY_PASS)


def retry_after_s(value: str | None, now_s: float) -> float | None:
    """Seconds of a `Retry-After` header in either of its forms; None without one, or if it is unreadable."""
    if not value:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(parsedate_to_datetime(value).timestamp() - now_s, 0.0)
    except (ValueError, OverflowError):
        return None


PATIENT = RetryPolicy()
"""How clients try again unless they are told otherwise."""
