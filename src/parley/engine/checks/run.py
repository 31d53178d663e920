"""Running checks on one answer, and what they make of its rating."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import singledispatch

from parley.engine.checks.faults import CheckCouldNotRun
from parley.engine.checks.jsontext import JsonUnreadable, read_json
from parley.engine.checks.patterns import read_pattern
from parley.engine.checks.schema import read_schema
from parley.engine.checks.shapes import (
    Check,
    Contains,
    Cost,
    Equals,
    JsonSchema,
    Latency,
    Regex,
    Similarity,
    Trajectory,
)
from parley.engine.checks.similarity import jaccard, rouge_l
from parley.engine.checks.trajectory import fits
from parley.engine.stats.rounding import rounded, told

_MOST_NAMES = 20
"""Tools that a detail names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What an agent gave. None stands for what was not sent, an empty tuple for no tool call."""

    text: str
    tools: tuple[str, ...] | None = None
    duration_ms: int | None = None
    cost_usd: Decimal | None = None
    expected: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """How a check came out; `passed` is None if it could not run."""

    id: str | None
    type: str
    passed: bool | None
    must_pass: bool
    detail: str


def run_checks(checks: Sequence[Check], answered: Answered) -> tuple[CheckResult, ...]:
    """Every check in its order. Takes up to some seconds of CPU in bad cases: run it off the loop."""
    return tuple(_run(check, answered) for check in checks)


def rating_after(rating: Decimal | None, results: Sequence[CheckResult]) -> Decimal | None:
    """`rating` (the judge's, None if unreadable) after `results`: 0 where one that must pass failed.

    None where one that must pass could not run: then nobody knows whether the answer deserves its rating.
    """
    decisive = [result.passed for result in results if result.must_pass]
    if False in decisive:
        return Decimal(0)
    return None if None in decisive else rating


def _run(check: Check, answered: Answered) -> CheckResult:
    passed: bool | None
    try:
        passed, detail = _tried(check, answered)
    except CheckCouldNotRun as problem:
        passed, detail = None, problem.problem
    return CheckResult(id=check.id, type=check.type, passed=passed, must_pass=check.must_pass, detail=detail)


@singledispatch
def _tried(check: object, answered: Answered) -> tuple[bool, str]:
    raise TypeError(f"no check of {answered!r}: {check!r}")


@_tried.register
def _contains(check: Contains, answered: Answered) -> tuple[bool, str]:
    return _found(
        _written(check.text, check.ignore_case) in _written(answered.text, check.ignore_case), check
    )


@_tried.register
def _equals(check: Equals, answered: Answered) -> tuple[bool, str]:
    wanted, got = (_written(text, check.ignore_case).strip() for text in (check.text, answered.text))
    is_equal = wanted == got
    words = "is the text" if is_equal else "is not the text"
    return is_equal is not check.negated, f"The output {words}."


@_tried.register
def _regex(check: Regex, answered: Answered) -> tuple[bool, str]:
    pattern = read_pattern(check.pattern, ignore_case=check.ignore_case)
    return _found(pattern.found_in(answered.text), check)


@_tried.register
def _json_schema(check: JsonSchema, answered: Answered) -> tuple[bool, str]:
    try:
        value = read_json(answered.text)
    except JsonUnreadable as problem:
        return False, f"The output cannot be read as JSON. {problem.problem}"
    faults = read_schema(check.rules).faults(value)
    if not faults:
        return True, "The output fits the schema."
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return False, f"{faults[0].path or 'The whole output'}: {faults[0].problem}{more}"


@_tried.register
def _trajectory(check: Trajectory, answered: Answered) -> tuple[bool, str]:
    if answered.tools is None:
        raise CheckCouldNotRun("The result tells no tool calls.")
    passed = fits(answered.tools, check.tools, check.mode)
    return passed, f"Called: {_listed(answered.tools)}; expected ({check.mode}): {_listed(check.tools)}."


@_tried.register
def _similarity(check: Similarity, answered: Answered) -> tuple[bool, str]:
    reference = check.text if check.text is not None else answered.expected
    if reference is None:
        raise CheckCouldNotRun("There is no text to compare with: the case expects no result.")
    measure: Callable[[str, str], Fraction] = jaccard if check.method == "jaccard" else rouge_l
    likeness = measure(answered.text, reference)
    detail = f"{check.method} is {told(rounded(likeness, 4))}; at least {told(check.min)} is wanted."
    return likeness >= Fraction(check.min), detail


@_tried.register
def _latency(check: Latency, answered: Answered) -> tuple[bool, str]:
    if answered.duration_ms is None:
        raise CheckCouldNotRun("The result tells no duration.")
    detail = f"Took {answered.duration_ms} ms; at most {check.max_ms} are allowed."
    return answered.duration_ms <= check.max_ms, detail


@_tried.register
def _cost(check: Cost, answered: Answered) -> tuple[bool, str]:
    if answered.cost_usd is None:
        raise CheckCouldNotRun("The result tells no cost.")
    detail = f"Cost ${told(answered.cost_usd)}; at most ${told(check.max_usd)} is allowed."
    return answered.cost_usd <= check.max_usd, detail


def _found(is_there: bool, check: Contains | Regex) -> tuple[bool, str]:
    what = "The text" if isinstance(check, Contains) else "The pattern"
    return is_there is not check.negated, f"{what} {'was' if is_there else 'was not'} found."


def _written(text: str, ignore_case: bool) -> str:
    """`text` such that two ways to encode one accent are equal."""
    composed = unicodedata.normalize("NFC", text)
    return unicodedata.normalize("NFC", composed.casefold()) if ignore_case else composed


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return (", ".join(names[:_MOST_NAMES]) or "nothing") + more
