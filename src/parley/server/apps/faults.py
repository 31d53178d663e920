"""How talking to a remote app goes wrong."""

from __future__ import annotations


class AppFault(Exception):
    """A call to an app failed. `code` and `message` are fit for the customer's eyes."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class AppAway(AppFault):
    """It did not answer, or asked to come again: the call may be repeated.

    `was_asked` tells that the app may have carried the call out all the same.
    """

    def __init__(
        self, code: str, message: str, *, retry_after_s: float | None = None, was_asked: bool = True
    ) -> None:
        super().__init__(code, message)
        self.retry_after_s = retry_after_s
        self.was_asked = was_asked


class AppRefused(AppFault):
    """It said no, in its own words."""


class AppMisbehaved(AppFault):
    """It answered what no app answers: another server, a redirect, too much, nonsense."""

    def __init__(self, message: str) -> None:
        super().__init__("app_misbehaved", message)
