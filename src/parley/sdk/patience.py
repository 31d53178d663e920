"""How long a driver waits before it sends a call again."""

from __future__ import annotations

import random
from dataclasses import dataclass

import httpx

from parley.sdk.answering import asked_wait_s
from parley.sdk.retries import RetryPolicy, may_repeat
from parley.sdk.unreachable import was_not_sent


@dataclass(frozen=True, slots=True)
class Patience:
    """A policy with the chance it asks for. Every wait is None when the driver should give up."""

    policy: RetryPolicy

    def after_answer(self, response: httpx.Response, retry: int, *, is_repeatable: bool) -> float | None:
        """The wait before this retry, seconds; None also if the answer stands."""
        if not may_repeat(response.status_code, is_repeatable=is_repeatable):
            return None
        return self.policy.wait_s(retry, random.random(), asked_wait_s(response))

    def after_break(self, error: httpx.TransportError, retry: int, *, is_repeatable: bool) -> float | None:
        """The wait before this retry, seconds; None also if the call may have been carried out."""
        if not (is_repeatable or was_not_sent(error)):
            return None
        return self.policy.wait_s(retry, random.random())
