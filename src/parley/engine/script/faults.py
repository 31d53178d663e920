"""How a suite is refused, and how a part of an attempt goes wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Phase: TypeAlias = Literal[
    "params",
    "setup",
    "execute",
    "responder",
    "reference",
    "grading",
    "verification",
    "cleanup",
    "reporting",
]


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong, at `path` (`cases[0].steps[1].expect`; empty for the whole)."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path or 'the suite'} {self.message}"


class SuiteInvalid(ValueError):
    """A suite cannot be played as it is written. `problems` names everything that was found."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


class SafeFailure(Exception):
    """A failure that the app declares fit for everyone's eyes: kept with code, message, details and causes.

    Any other exception of the app is told by its kind alone; its words are private to the owner.
    """

    def __init__(self, code: str, message: str, details: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details


class PhaseFailed(Exception):
    """Something of ours ended a phase: `code` and `message` go into the record as they stand."""

    def __init__(self, phase: Phase, code: str, message: str) -> None:
        super().__init__(message)
        self.phase: Phase = phase
        self.code = code
        self.message = message


class JudgeFault(Exception):
    """A judge could not be asked: an error of the attempt's grading, never a failed criterion.

    `code` and `message` are fit for everyone's eyes.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class JudgeUnreachable(JudgeFault):
    """The service that judges could not be reached: what it was to grade stays ungraded until later."""
