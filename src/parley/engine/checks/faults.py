"""The two ways in which a check itself goes wrong; a check that merely fails is a value, not a fault."""

from __future__ import annotations


class CheckRefused(ValueError):
    """A check is wrong as written: nobody could ever run it.

    `problem` is a sentence for whoever wrote the check, `path` the place inside what was written, "" for
    the whole.
    """

    def __init__(self, problem: str, path: str = "") -> None:
        super().__init__(f"{path}: {problem}" if path else problem)
        self.problem = problem
        self.path = path


class PatternRefused(CheckRefused):
    """A pattern that RE2 does not take."""


class SchemaRefused(CheckRefused):
    """A JSON Schema that is malformed, too large, or reaches outside of itself."""


class CheckCouldNotRun(Exception):
    """A sound check met an answer that it cannot decide on within its bounds.

    `problem` says what stood in the way. It tells nothing about the answer: the rating becomes null, never 0.
    """

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
