"""What a caller asks of the gate, read strictly: a mistyped parameter must never make a gate pass."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

Baseline: TypeAlias = str
"""`latest`, `latest-passing`, `pinned`, or the id of an evaluation."""

MAX_CALLER_CHARS = 60
MAX_BASELINE_CHARS = 60
DEFAULT_TOLERANCE = Fraction(1, 2)
"""The fall of the mean that `noRegression` lets pass (product contract)."""
FULL_COVERAGE = Fraction(1)
"""Checked by the API unless another coverage is asked for (product contract)."""
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,18})?")
"""No sign, exponent, comma or percent: a number that people and programs read alike."""
_WHOLE = re.compile(r"[0-9]{1,9}")
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


class ParametersWrong(ValueError):
    """Parameters that the gate does not take; `faults` are pairs of parameter and problem, all of them."""

    def __init__(self, faults: Iterable[tuple[str, str]]) -> None:
        self.faults = list(faults)
        super().__init__("; ".join(f"{name}: {problem}" for name, problem in self.faults))


@dataclass(frozen=True, slots=True, kw_only=True)
class GateParameters:
    """The checks asked for, None for those that were not. Thresholds are exact."""

    fail_under: Fraction | None = None
    no_regression: bool = False
    tolerance: Fraction = DEFAULT_TOLERANCE
    min_pass_rate: Fraction | None = None
    max_regressed_cases: int | None = None
    min_coverage: Fraction | None = None
    significance: Fraction | None = None
    baseline: Baseline = "latest"
    record: bool = False
    caller: str | None = None

    @property
    def wants_baseline(self) -> bool:
        """Whether any check looks at the baseline."""
        return self.no_regression or self.max_regressed_cases is not None or self.significance is not None

    @property
    def has_checks(self) -> bool:
        """Whether anything is checked at all."""
        absolute = (self.fail_under, self.min_pass_rate, self.min_coverage)
        return self.wants_baseline or any(threshold is not None for threshold in absolute)


def read_parameters(
    given: Iterable[tuple[str, str]], *, default_coverage: Fraction | None = None
) -> GateParameters:
    """The parameters in `given`, pairs of name and text. Raises `ParametersWrong` with every fault.

    `default_coverage` is the coverage checked when nobody names one; None checks none.
    """
    values, faults = _values(given)
    if "tolerance" in values and not values.get("no_regression"):
        faults.append(("tolerance", "needs noRegression=true"))
    found = GateParameters(**{"min_coverage": default_coverage, **values})
    if not faults and not found.has_checks:
        faults.append(("", "name at least one check, such as failUnder=7"))
    if faults:
        raise ParametersWrong(faults)
    return found


def _values(given: Iterable[tuple[str, str]]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    values: dict[str, Any] = {}
    faults: list[tuple[str, str]] = []
    seen: set[str] = set()
    for name, text in given:
        if name in seen:
            faults.append((name, "is given more than once"))
        elif name not in PARAMETERS:
            faults.append((name, f"is unknown; the gate takes {', '.join(PARAMETERS)}"))
        else:
            field, read = PARAMETERS[name]
            try:
                values[field] = read(text)
            except ValueError as error:
                faults.append((name, str(error)))
        seen.add(name)
    return values, faults


def _number(low: str, high: str | None) -> Callable[[str], Fraction]:
    bounds = f"from {low} to {high}" if high else f"of at least {low}"

    def read(text: str) -> Fraction:
        value = Fraction(Decimal(text)) if _NUMBER.fullmatch(text) else None
        if value is None or value < Fraction(low) or (high is not None and value > Fraction(high)):
            raise ValueError(f"must be a plain number {bounds}")
        return value

    return read


def _whole(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise ValueError("must be a whole number of at least 0")
    return int(text)


def _truth(text: str) -> bool:
    if text not in _TRUTH:
        raise ValueError("must be true, false, 1 or 0")
    return _TRUTH[text]


def _text(most: int) -> Callable[[str], str]:
    def read(text: str) -> str:
        if not text.strip() or len(text) > most or not text.isprintable():
            raise ValueError(f"must be 1 to {most} printable characters")
        return text

    return read


PARAMETERS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "failUnder": ("fail_under", _number("0", "10")),
    "noRegression": ("no_regression", _truth),
    "tolerance": ("tolerance", _number("0", None)),
    "minPassRate": ("min_pass_rate", _number("0", "1")),
    "maxRegressedCases": ("max_regressed_cases", _whole),
    "minCoverage": ("min_coverage", _number("0", "1")),
    "significance": ("significance", _number("0.001", "0.5")),
    "baseline": ("baseline", _text(MAX_BASELINE_CHARS)),
    "record": ("record", _truth),
    "caller": ("caller", _text(MAX_CALLER_CHARS)),
}
"""Every parameter by its name on the wire, with the field it fills and how its text is read."""
