"""Everything the SDK raises.

ParleyError
├── NotConfigured             no address or key was found, or one of them is unusable
├── ServiceUnreachable        no answer came, or it broke off
├── StreamBroken              a stream could not be read to its end
├── UnexpectedAnswer          something answered, but not as the service does
├── NotFoundByName            no resource, or several, are called so
└── Refused                   the service said no: status, code, message, details
    ├── InvalidRequest            400
    ├── KeyRefused                401
    ├── BalanceExhausted          402
    ├── Forbidden                 403
    ├── NotFound                  404
    ├── Conflict                  409
    ├── TooManyRequests           429
    └── ServiceFault              5xx
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class ParleyError(Exception):
    """The base of all. Its text is a sentence a person can act on."""


class NotConfigured(ParleyError):
    """No address or key was found, or one of them is unusable."""


class ServiceUnreachable(ParleyError):
    """No answer came, or it broke off, also after the retries."""


class StreamBroken(ParleyError):
    """A stream could not be read to its end."""


class UnexpectedAnswer(ParleyError):
    """Something answered, but not as the service does: a proxy, a wrong address, another release."""


class NotFoundByName(ParleyError):
    """No resource is called so, or several are."""


class Refused(ParleyError):
    """The service said no. `code` is a machine code of docs/reference/errors.md, empty if none was sent.

    `retry_after_s` is what `Retry-After` told, None without it. `details` of a 400 lists every fault as
    `{"field", "problem"}`.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str = "",
        details: Any = None,
        retry_after_s: float | None = None,
        request_id: str = "",
    ) -> None:
        self.message = message
        self.status = status
        self.code = code
        self.details = details
        self.retry_after_s = retry_after_s
        self.request_id = request_id
        super().__init__(message)

    def __str__(self) -> str:
        return " ".join((self.message, *self.advice()))

    def advice(self) -> list[str]:
        """Sentences that say what to do about it."""
        return []


class InvalidRequest(Refused):
    """The service could not accept what was sent."""

    @property
    def faults(self) -> list[tuple[str, str]]:
        """Every fault as its field and what is wrong with it; the field is empty for the whole body."""
        lines = self.details if isinstance(self.details, list) else []
        return [
            (str(line.get("field", "")), str(line.get("problem", "")))
            for line in lines
            if isinstance(line, Mapping)
        ]

    def advice(self) -> list[str]:
        """The faults that the sentence leaves out."""
        return [f"{field or 'the body'}: {problem.rstrip('.')}." for field, problem in self.faults[1:]]


class KeyRefused(Refused):
    """The key is missing, unknown, expired or revoked."""

    def advice(self) -> list[str]:
        """Where the key came from is what people look for first."""
        return ["Check PARLEY_API_KEY, and that PARLEY_URL is the service this key belongs to."]


class BalanceExhausted(Refused):
    """The account's balance is used up."""


class Forbidden(Refused):
    """The key may not do this."""


class NotFound(Refused):
    """There is no such thing in this account."""


class Conflict(Refused):
    """The request does not fit the state of things."""


class TooManyRequests(Refused):
    """A limit is reached; `retry_after_s` tells when it is not."""

    def advice(self) -> list[str]:
        """When to come back."""
        return [] if self.retry_after_s is None else [f"Try again in {self.retry_after_s:g} s."]


class ServiceFault(Refused):
    """A fault of the service; quote `request_id` when you ask for help."""

    def advice(self) -> list[str]:
        """What to quote."""
        return [f"Request {self.request_id}."] if self.request_id else []


BY_STATUS: Mapping[int, type[Refused]] = {
    400: InvalidRequest,
    401: KeyRefused,
    402: BalanceExhausted,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    429: TooManyRequests,
}


def kind_of(status: int) -> type[Refused]:
    """The class that stands for a status."""
    return ServiceFault if status >= 500 else BY_STATUS.get(status, Refused)
