"""The checks of the gate, in their order, and the verdict they add up to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from parley.engine.comparison import Pairing, pair
from parley.engine.gate.parameters import GateParameters
from parley.engine.stats.graded import Graded
from parley.engine.stats.results import Counts
from parley.engine.stats.rounding import rounded, told, told_beside
from parley.engine.stats.sensitivity import MIN_CASES, from_pairs, from_ratings
from parley.engine.stats.signed_rank import signed_rank

CheckName: TypeAlias = Literal[
    "fail-under", "no-regression", "pass-rate", "regressed-cases", "coverage", "significance"
]
Verdict: TypeAlias = Literal["passed", "failed", "inconclusive"]

MIN_CHANGED = MIN_CASES
"""Changed pairs from which `significance` is decided (product contract)."""
NO_BASELINE = "There is no baseline to compare with."


@dataclass(frozen=True, slots=True)
class GateCheck:
    """One check. `passed` is None where it cannot be decided; figures are exact, None where there is none."""

    check: CheckName
    passed: bool | None
    threshold: Fraction | None
    actual: Fraction | None
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GateAnswer:
    """What the gate says. `first_run`: no baseline was found; `note`: what this sample could show."""

    average: Fraction | None
    counts: Counts
    baseline_id: str | None
    baseline_average: Fraction | None
    checks: tuple[GateCheck, ...]
    verdict: Verdict
    first_run: bool
    note: str

    @property
    def passed(self) -> bool:
        """Whether the verdict is `passed`, and nothing less."""
        return self.verdict == "passed"


def decide(
    parameters: GateParameters, now: Graded, baseline: Graded | None, why_none: str = NO_BASELINE
) -> GateAnswer:
    """The gate's answer for `now`, measured against `baseline`. `why_none` explains a missing one.

    Raises ValueError for parameters without a check.
    """
    if not parameters.has_checks:
        raise ValueError("a gate without a check would always pass")
    pairing = pair(now, baseline) if baseline else None
    checks = tuple(_checks(parameters, now, baseline, pairing, why_none))
    if now.counts.rated == 0:
        checks = tuple(_without_ratings(check) for check in checks)
    sample = from_pairs(pairing.deltas) if pairing and pairing.deltas else from_ratings(_case_means(now))
    return GateAnswer(
        average=now.average,
        counts=now.counts,
        baseline_id=baseline.evaluation_id if baseline else None,
        baseline_average=baseline.average if baseline else None,
        checks=checks,
        verdict=verdict_of(checks),
        first_run=baseline is None,
        note=sample.words,
    )


def verdict_of(checks: tuple[GateCheck, ...]) -> Verdict:
    """`failed` if any check fails, else `inconclusive` if any is undecided, else `passed`."""
    if any(check.passed is False for check in checks):
        return "failed"
    return "inconclusive" if any(check.passed is None for check in checks) else "passed"


def _checks(
    parameters: GateParameters, now: Graded, before: Graded | None, pairing: Pairing | None, why_none: str
) -> Iterator[GateCheck]:
    if parameters.fail_under is not None:
        yield _at_least("fail-under", "mean rating", parameters.fail_under, now.average)
    if parameters.no_regression:
        yield _no_regression(parameters.tolerance, now, before, why_none)
    if parameters.min_pass_rate is not None:
        yield _at_least("pass-rate", "pass rate", parameters.min_pass_rate, now.pass_rate)
    if parameters.max_regressed_cases is not None:
        yield _regressed_cases(Fraction(parameters.max_regressed_cases), pairing, why_none)
    if parameters.min_coverage is not None:
        yield _at_least("coverage", "coverage", parameters.min_coverage, now.counts.coverage)
    if parameters.significance is not None:
        yield _significance(parameters.significance, pairing, why_none)


def _at_least(check: CheckName, what: str, threshold: Fraction, actual: Fraction | None) -> GateCheck:
    if actual is None:
        return GateCheck(check, False, threshold, None, f"There is no {what}: nothing was rated.")
    passed = actual >= threshold
    words = "is at least" if passed else "is under"
    detail = f"The {what} {told_beside(actual, threshold)} {words} {_exact(threshold)}."
    return GateCheck(check, passed, threshold, actual, detail)


def _no_regression(tolerance: Fraction, now: Graded, before: Graded | None, why_none: str) -> GateCheck:
    if before is None:
        return _first("no-regression", why_none, now.average)
    if now.average is None or before.average is None:
        return GateCheck("no-regression", False, before.average, now.average, "There is no mean to compare.")
    fall = before.average - now.average
    passed = fall <= tolerance
    moved = f"fell by {told_beside(fall, tolerance)}" if fall > 0 else "did not fall"
    allowed = f"{'within' if passed else 'more than'} the tolerance of {_exact(tolerance)}"
    detail = f"The mean {moved}, {allowed}." if fall > 0 else f"The mean {moved}."
    return GateCheck("no-regression", passed, before.average, now.average, detail)


def _regressed_cases(most: Fraction, pairing: Pairing | None, why_none: str) -> GateCheck:
    if pairing is None:
        return _first("regressed-cases", why_none, None)
    if not pairing.deltas:
        return GateCheck("regressed-cases", None, most, None, "No case pairs with the baseline.")
    regressed = [case for case in pairing.cases if case.kind == "regressed"]
    detail = f"{len(regressed)} of {len(pairing.deltas)} paired cases regressed."
    if pairing.count("inconclusive"):
        detail += f" {pairing.count('inconclusive')} could not be told."
    return GateCheck("regressed-cases", len(regressed) <= most, most, Fraction(len(regressed)), detail)


def _significance(level: Fraction, pairing: Pairing | None, why_none: str) -> GateCheck:
    if pairing is None:
        return _first("significance", why_none, None)
    if not pairing.deltas:
        return GateCheck("significance", None, level, None, "No case pairs with the baseline.")
    test = signed_rank(pairing.deltas)
    if test.changed < MIN_CHANGED:
        detail = (
            f"Only {test.changed} paired cases changed; it takes {MIN_CHANGED} to tell a fall from chance."
        )
        return GateCheck("significance", None, level, None, detail)
    p = Fraction(test.p_fell)
    words = "unlikely to be" if p <= level else "may well be"
    detail = (
        f"A fall like this over {test.changed} changed cases {words} chance (p = {told_beside(p, level)})."
    )
    return GateCheck("significance", p > level, level, p, detail)


def _first(check: CheckName, why: str, actual: Fraction | None) -> GateCheck:
    return GateCheck(check, True, None, actual, f"Passes without a comparison. {why}")


def _without_ratings(check: GateCheck) -> GateCheck:
    return GateCheck(check.check, False, check.threshold, check.actual, "No result was rated.")


def _case_means(graded: Graded) -> list[Fraction]:
    return [case.mean for case in graded.scores.values() if case.mean is not None]


def _exact(threshold: Fraction) -> str:
    """A threshold, which was written as a decimal of at most 18 places."""
    return told(rounded(threshold, 18))
