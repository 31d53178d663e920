"""Customers' regular expressions, run in RE2: time grows with the text, whatever the pattern."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from parley.engine.checks.faults import CheckCouldNotRun, PatternRefused
from parley.engine.text import clean

MAX_PATTERN_CHARS = 2_000
"""Longer patterns are refused: a page of pattern is a program, and belongs in a judge's guideline."""
MAX_TEXT_CHARS = 200_000
"""Longer texts are not searched: the slowest pattern we could write takes 4 seconds for this much."""
_MAX_MEMORY_BYTES = 1 << 20
"""For one compiled pattern and its automaton; bounds its size, and so the time per character."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that RE2 has accepted. Two with the same source and case are equal."""

    source: str
    ignore_case: bool
    _compiled: Any = field(repr=False, compare=False)

    def found_in(self, text: str) -> bool:
        """Whether the pattern matches anywhere in `text`. Raises `CheckCouldNotRun` over MAX_TEXT_CHARS."""
        if len(text) > MAX_TEXT_CHARS:
            raise CheckCouldNotRun(
                f"The text is longer than the {MAX_TEXT_CHARS:,} characters a pattern is tried on."
            )
        return self._compiled.search(clean(text)) is not None


def read_pattern(source: str, *, ignore_case: bool = False) -> Pattern:
    """The pattern that `source` writes in RE2's syntax. Raises `PatternRefused`, and nothing else.

    RE2 has no backreferences and no look-around, which is what makes it safe; the message names what it met.
    `ignore_case` acts as if the pattern began with `(?i)`.
    """
    if not source:
        raise PatternRefused("A pattern must not be empty: it would match every text.")
    if len(source) > MAX_PATTERN_CHARS:
        raise PatternRefused(f"A pattern may have at most {MAX_PATTERN_CHARS:,} characters.")
    return Pattern(source, ignore_case, _compiled(clean(source), ignore_case))


def _compiled(source: str, ignore_case: bool) -> Any:
    import re2  # a C++ library, loaded only where somebody has a pattern

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY_BYTES
    options.case_sensitive = not ignore_case
    try:
        return re2.compile(source, options)
    except re2.error as error:
        raise PatternRefused(f"RE2 does not take this pattern: {_words(error)}.") from None


def _words(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    return said.decode(errors="replace") if isinstance(said, bytes) else str(said)
