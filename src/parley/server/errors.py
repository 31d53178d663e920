"""Every error the API answers with. The docstring of a class is its line in docs/reference/errors.md.

ServerError
├── InvalidRequest            400 invalid_request
├── Unauthenticated           401
│   ├── MissingKey                missing_api_key
│   ├── InvalidKey                invalid_api_key
│   ├── SessionEnded              session_ended
│   ├── SignInLinkSpent           sign_in_link_spent
│   └── OperatorTokenRefused      operator_token_refused
├── BalanceExhausted          402 balance_exhausted
├── Forbidden                 403
│   ├── PublicKeyRefused          public_key_refused
│   ├── ScopeMissing              scope_missing
│   ├── CrossSiteRefused          cross_site_refused
│   └── AccountSuspended          account_suspended
├── NotFound                  404 not_found
├── MethodNotAllowed          405 method_not_allowed
├── Conflict                  409
│   ├── EvaluationClosed          evaluation_closed
│   ├── EvaluationNotCompleted    evaluation_not_completed
│   ├── EvaluationOpen            evaluation_open
│   ├── GatewayInUse              gateway_in_use
│   ├── IdempotencyConflict       idempotency_conflict
│   ├── JudgeMismatch             judge_mismatch
│   ├── NotABaseline              not_a_baseline
│   ├── NothingToRegrade          nothing_to_regrade
│   └── NotResumable              not_resumable
├── RequestTooSlow            408 request_too_slow
├── BodyTooLarge              413 body_too_large
├── EvidenceTooLarge          413 evidence_too_large
├── RunInconsistent           422 run_inconsistent
├── TooManyRequests           429
│   ├── RequestsLimited           request_rate_limited
│   ├── QuotaExhausted            quota_exhausted
│   ├── GradesLimited             grades_limited
│   ├── ConcurrencyExhausted      concurrency_exhausted
│   └── IntegratedLimitReached    integrated_limit_reached
├── InternalError             500 internal_error
├── JudgeFailed               502 judge_failed
└── Unavailable               503
    ├── DatabaseAway              database_unavailable
    ├── Restarting                restarting
    ├── StreamsExhausted          streams_exhausted
    └── LlmsNotConfigured         llms_not_configured
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar


class ServerError(Exception):
    """An error with an answer: status, code, a sentence a person can act on, details."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = ""
    message: ClassVar[str] = ""

    def __init__(
        self, message: str | None = None, *, details: Any = None, retry_after_s: int | None = None
    ) -> None:
        self.text = message or self.message
        self.details = details
        self.retry_after_s = retry_after_s
        super().__init__(self.text)

    def headers(self) -> dict[str, str]:
        """Headers of the answer."""
        return {} if self.retry_after_s is None else {"Retry-After": str(max(1, self.retry_after_s))}


class InvalidRequest(ServerError):
    """The body or a parameter is malformed; `details` lists every fault as `{field, problem}`."""

    status = 400
    code = "invalid_request"
    message = "The request is not valid; see details."

    @classmethod
    def field(cls, field: str, problem: str) -> InvalidRequest:
        """One fault of one field."""
        return cls.faults([(field, problem)])

    @classmethod
    def faults(cls, faults: Iterable[tuple[str, str]]) -> InvalidRequest:
        """All faults at once, as pairs of dotted field and problem."""
        lines = [{"field": field, "problem": problem} for field, problem in faults]
        named = [f"{line['field'] or 'the body'}: {line['problem']}" for line in lines]
        more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
        return cls(
            f"The request is not valid: {named[0].rstrip('.')}{more}." if named else None, details=lines
        )


class Unauthenticated(ServerError):
    """A valid key is needed."""

    status = 401

    def headers(self) -> dict[str, str]:
        """Names the scheme, as HTTP asks of a 401."""
        return {**super().headers(), "WWW-Authenticate": 'Bearer realm="parley"'}


class MissingKey(Unauthenticated):
    """No API key was sent."""

    code = "missing_api_key"
    message = "Send an API key, for example as 'Authorization: Bearer sk-par-...'."


class InvalidKey(Unauthenticated):
    """The API key is unknown, mistyped, expired or revoked."""

    code = "invalid_api_key"
    message = "This API key is unknown, expired or revoked."


class SessionEnded(Unauthenticated):
    """The browser's session is over: signed out, run out, or its key expired or was revoked."""

    code = "session_ended"
    message = "You are signed out; sign in again with a private key."


class SignInLinkSpent(Unauthenticated):
    """A sign-in link opens one session, within 5 minutes of its making."""

    code = "sign_in_link_spent"
    message = "This sign-in link has been used or is older than 5 minutes; ask for a new one."


class OperatorTokenRefused(Unauthenticated):
    """The operators' API was called without its token, or with a wrong one."""

    code = "operator_token_refused"
    message = "Send the operators' token as 'Authorization: Bearer TOKEN'."


class BalanceExhausted(ServerError):
    """The account's balance is not positive; nothing was started."""

    status = 402
    code = "balance_exhausted"
    message = "The account's balance is used up; add credit to start runs."


class Forbidden(ServerError):
    """The key is valid, but may not do this."""

    status = 403


class PublicKeyRefused(Forbidden):
    """A public key was sent where a private one is needed."""

    code = "public_key_refused"
    message = "A public key may not do this; use a private key (sk-par-...)."


class ScopeMissing(Forbidden):
    """The key lacks a scope; `details.scopes` names what is missing."""

    code = "scope_missing"
    message = "This key lacks a scope that is needed here."

    @classmethod
    def of(cls, missing: Sequence[str]) -> ScopeMissing:
        """Names the scopes that are missing."""
        return cls(f"This key lacks the scope {', '.join(missing)}.", details={"scopes": list(missing)})


class CrossSiteRefused(Forbidden):
    """A session cookie counts on the service's own pages only: same-origin `Origin` or `Sec-Fetch-Site`,
    and `X-Parley-Client` with what changes something."""

    code = "cross_site_refused"
    message = (
        "A session counts on this service's own pages only. Elsewhere, send an API key, for example as "
        "'Authorization: Bearer sk-par-...'."
    )


class AccountSuspended(Forbidden):
    """The account is suspended by the operator."""

    code = "account_suspended"
    message = "This account is suspended; ask the operator of this service."


class NotFound(ServerError):
    """No such thing in this account; another account's things count as unknown."""

    status = 404
    code = "not_found"
    message = "There is no such resource."


class MethodNotAllowed(ServerError):
    """The address exists, but does not take this method."""

    status = 405
    code = "method_not_allowed"
    message = "This address does not take this method."


class Conflict(ServerError):
    """The request does not fit the state of things."""

    status = 409


class EvaluationClosed(Conflict):
    """The evaluation takes no more results; `details.state` tells why."""

    code = "evaluation_closed"
    message = "This evaluation takes no more results."

    @classmethod
    def in_state(cls, state: str) -> EvaluationClosed:
        """Names the state."""
        return cls(f"This evaluation takes no more results: it is {state}.", details={"state": state})


class EvaluationNotCompleted(Conflict):
    """The evaluation failed, expired or was cancelled, so it has no verdict; `details.state` tells which."""

    code = "evaluation_not_completed"
    message = "This evaluation did not complete."

    @classmethod
    def in_state(cls, state: str) -> EvaluationNotCompleted:
        """Names the state."""
        return cls(f"This evaluation did not complete: it is {state}.", details={"state": state})


class EvaluationOpen(Conflict):
    """The evaluation is still open or being scored; `details.state` tells which."""

    code = "evaluation_open"
    message = "This evaluation is still open; finalize it, and ask again once it is scored."

    @classmethod
    def in_state(cls, state: str) -> EvaluationOpen:
        """Names the state."""
        return cls(details={"state": state})


class GatewayInUse(Conflict):
    """A gateway that tests use cannot be deleted; `details.tests` names up to 20 of them."""

    code = "gateway_in_use"
    message = "This gateway is in use by tests."


class IdempotencyConflict(Conflict):
    """The `Idempotency-Key` was used with another body in the last 24 hours."""

    code = "idempotency_conflict"
    message = "This Idempotency-Key was used with another body; use a new key for a new request."


class JudgeMismatch(Conflict):
    """The request is pinned to another judge or rubric than the service has; `details` tells which it has."""

    code = "judge_mismatch"
    message = "This service judges otherwise than the request is pinned to."


class NotABaseline(Conflict):
    """The evaluation cannot be a baseline; the sentence tells why."""

    code = "not_a_baseline"
    message = "This evaluation cannot be a baseline."


class NothingToRegrade(Conflict):
    """The evaluation is open, or holds no transcript that could be judged again."""

    code = "nothing_to_regrade"
    message = "This evaluation holds no transcript that could be judged again."


class NotResumable(Conflict):
    """`Last-Event-ID` was sent to a stream of which nothing is stored."""

    code = "not_resumable"
    message = "This stream cannot be resumed; start it again without Last-Event-ID."


class RequestTooSlow(ServerError):
    """The head or the body of the request took too long to arrive; the connection was closed."""

    status = 408
    code = "request_too_slow"
    message = "The request took too long to arrive."

    def headers(self) -> dict[str, str]:
        """The rest of the request is not waited for."""
        return {**super().headers(), "Connection": "close"}


class BodyTooLarge(ServerError):
    """The body is over the byte cap; `details.max_bytes` tells it. Nothing was read further."""

    status = 413
    code = "body_too_large"
    message = "The body is too large."

    @classmethod
    def over(cls, max_bytes: int) -> BodyTooLarge:
        """Names the cap."""
        return cls(f"The body is larger than {max_bytes} bytes.", details={"max_bytes": max_bytes})


class EvidenceTooLarge(ServerError):
    """The evidence is more than the judge reads; nothing was asked. `details` tells both, in characters."""

    status = 413
    code = "evidence_too_large"
    message = "The evidence is more than the judge reads."

    @classmethod
    def over(cls, chars: int, limit: int) -> EvidenceTooLarge:
        """Names both."""
        return cls(
            f"The evidence has {chars:,} characters; this judge reads {limit:,}. "
            "Select events or outputs, or turn history off.",
            details={"chars": chars, "max_chars": limit},
        )


class RunInconsistent(ServerError):
    """The run cannot have come of playing its suite; `details` lists what does not fit, by attempt."""

    status = 422
    code = "run_inconsistent"
    message = "The run does not follow from its suite and its own observations; see details."

    @classmethod
    def of(cls, problems: Sequence[tuple[str | None, str]]) -> RunInconsistent:
        """Pairs of an attempt's id, None for the run, and what does not fit."""
        lines = [{"attempt": attempt, "problem": problem} for attempt, problem in problems]
        first = f"The run does not fit its suite: {problems[0][1]}." if problems else None
        return cls(first, details=lines)


class TooManyRequests(ServerError):
    """Slow down; `Retry-After` tells when."""

    status = 429


class RequestsLimited(TooManyRequests):
    """This key sends more requests per minute than the service takes."""

    code = "request_rate_limited"
    message = "Too many requests with this key; slow down."


class QuotaExhausted(TooManyRequests):
    """The account started as many runs in the last 60 seconds as its plan allows."""

    code = "quota_exhausted"
    message = "The plan's runs per minute are used up."

    @classmethod
    def over(cls, limit: int, retry_after_s: int) -> QuotaExhausted:
        """Names the limit, and when the next start is free."""
        return cls(
            f"The plan allows {limit} new runs in any 60 seconds, and they are used up.",
            details={"limit": limit},
            retry_after_s=retry_after_s,
        )

    def headers(self) -> dict[str, str]:
        """Says what a start that was allowed says, too."""
        found = super().headers()
        if self.details is not None and self.retry_after_s is not None:
            found["X-RateLimit-Limit"] = str(self.details["limit"])
            found["X-RateLimit-Remaining"] = "0"
            found["X-RateLimit-Reset"] = found["Retry-After"]
        return found


class GradesLimited(TooManyRequests):
    """This key asked the judge as often in the last 60 seconds as the service allows."""

    code = "grades_limited"
    message = "Too many grades with this key; slow down."

    @classmethod
    def over(cls, limit: int, retry_after_s: int) -> GradesLimited:
        """Names the limit, and when the next grade is free."""
        return cls(
            f"A key may ask for {limit:,} grades in any 60 seconds, and they are used up.",
            details={"limit": limit},
            retry_after_s=retry_after_s,
        )


class ConcurrencyExhausted(TooManyRequests):
    """All of the account's slots for direct evaluations are taken."""

    code = "concurrency_exhausted"
    message = "All of the plan's concurrent direct evaluations are taken."


class IntegratedLimitReached(TooManyRequests):
    """The plan's daily requests or tokens of integrated llms are used up; `details` tells the limits."""

    code = "integrated_limit_reached"
    message = "The plan's requests or tokens of integrated llms in 24 hours are used up."


class InternalError(ServerError):
    """A fault of ours; `details.request_id` helps us to find it."""

    status = 500
    code = "internal_error"
    message = "Something went wrong on our side."


class JudgeFailed(ServerError):
    """The llm that judges could not be asked; the same `Idempotency-Key` may be tried again."""

    status = 502
    code = "judge_failed"
    message = "The judge could not be asked."


class Unavailable(ServerError):
    """The service cannot answer now; try again after `Retry-After` seconds. Nothing was half-made."""

    status = 503
    RETRY_AFTER_S: ClassVar[int] = 2

    def __init__(
        self, message: str | None = None, *, details: Any = None, retry_after_s: int | None = None
    ) -> None:
        super().__init__(message, details=details, retry_after_s=retry_after_s or self.RETRY_AFTER_S)


class DatabaseAway(Unavailable):
    """The database does not answer."""

    code = "database_unavailable"
    message = "The database does not answer; try again shortly."


class Restarting(Unavailable):
    """The process stops, and its grace time was over before the request was; send it again."""

    code = "restarting"
    message = "The service is restarting; try again shortly."


class StreamsExhausted(Unavailable):
    """This process holds as many event streams as its settings allow."""

    code = "streams_exhausted"
    message = "This server holds as many event streams as it may; try again shortly."


class LlmsNotConfigured(Unavailable):
    """The operator has named no llms that play user and judge in this profile; nothing was started."""

    RETRY_AFTER_S: ClassVar[int] = 60
    code = "llms_not_configured"
    message = "This service has no llms yet to play user and judge; ask its operator."

    @classmethod
    def of(cls, profile: str) -> LlmsNotConfigured:
        """Names the profile."""
        return cls(
            f"This service has no llms yet to play user and judge in profile {profile}; ask its operator.",
            details={"profile": profile},
        )


def answers() -> Iterator[type[ServerError]]:
    """Every class that an answer can carry, in the order of the tree."""
    pending: list[type[ServerError]] = [ServerError]
    while pending:
        kind = pending.pop(0)
        if kind.code:
            yield kind
        pending[:0] = kind.__subclasses__()
