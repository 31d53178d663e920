"""How an attempt at an inference fails."""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.engine.chat.pieces import Usage

FaultCode: TypeAlias = Literal[
    "address_refused",
    "connect_failed",
    "first_token_timeout",
    "idle_timeout",
    "inference_timeout",
    "http_error",
    "rate_limited",
    "request_refused",
    "not_a_stream",
    "stream_cut",
    "stream_malformed",
    "stream_too_large",
    "provider_error",
]


class InferenceFault(Exception):
    """One attempt failed.

    `message` is fit for the customer's eyes: cleaned, cut, secrets masked. `retry_after_s` is the
    provider's own wish. `usage` is what a cut attempt reported before it failed.
    """

    def __init__(
        self,
        code: FaultCode,
        message: str,
        *,
        retryable: bool,
        status: int | None = None,
        retry_after_s: float | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(message)
        self.code: FaultCode = code
        self.message = message
        self.retryable = retryable
        self.status = status
        self.retry_after_s = retry_after_s
        self.usage = usage
