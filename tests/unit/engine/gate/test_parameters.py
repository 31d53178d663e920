from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from parley.engine.gate.parameters import GateParameters, ParametersWrong, read_parameters


def read(query: dict[str, str], **more: Any) -> GateParameters:
    return read_parameters(list(query.items()), **more)


def faults(query: dict[str, str]) -> dict[str, str]:
    with pytest.raises(ParametersWrong) as wrong:
        read(query)
    return dict(wrong.value.faults)


@pytest.mark.parametrize(
    ("name", "text", "field", "value"),
    [
        ("failUnder", "0", "fail_under", Fraction(0)),
        ("failUnder", "10", "fail_under", Fraction(10)),
        ("failUnder", "7.05", "fail_under", Fraction(141, 20)),
        ("noRegression", "true", "no_regression", True),
        ("noRegression", "1", "no_regression", True),
        ("minPassRate", "0", "min_pass_rate", Fraction(0)),
        ("minPassRate", "1", "min_pass_rate", Fraction(1)),
        ("maxRegressedCases", "0", "max_regressed_cases", 0),
        ("minCoverage", "0.5", "min_coverage", Fraction(1, 2)),
        ("significance", "0.001", "significance", Fraction(1, 1000)),
        ("significance", "0.5", "significance", Fraction(1, 2)),
    ],
)
def test_parameter_is_read_exactly(name: str, text: str, field: str, value: object) -> None:
    assert getattr(read({name: text}), field) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("failUnder", "10.1"),
        ("failUnder", "-1"),
        ("failUnder", "NaN"),
        ("failUnder", "Infinity"),
        ("failUnder", ""),
        ("failUnder", "7,5"),
        ("failUnder", "7e0"),
        ("failUnder", " 7"),
        ("failUnder", "\u0667"),
        ("failUnder", "." * 5),
        ("failUnder", "0." + "1" * 19),
        ("noRegression", "yes"),
        ("noRegression", "True"),
        ("minPassRate", "1.01"),
        ("minPassRate", "80"),
        ("maxRegressedCases", "-1"),
        ("maxRegressedCases", "1.5"),
        ("minCoverage", "2"),
        ("significance", "0.0009"),
        ("significance", "0.51"),
        ("baseline", ""),
        ("baseline", "a" * 61),
        ("caller", ""),
        ("caller", "a" * 61),
        ("caller", "a\nb"),
        ("record", "maybe"),
    ],
)
def test_value_that_could_be_misread_is_refused_with_its_name(name: str, text: str) -> None:
    query = {"failUnder": "7", name: text}
    assert set(faults(query)) == {name}


def test_unknown_parameter_is_refused_and_the_known_ones_are_told() -> None:
    found = faults({"failUnder": "7", "fail_under": "7"})
    assert set(found) == {"fail_under"}
    assert "failUnder, noRegression" in found["fail_under"]


def test_parameter_given_twice_is_refused() -> None:
    with pytest.raises(ParametersWrong, match="more than once"):
        read_parameters([("failUnder", "9"), ("failUnder", "1")])


def test_all_faults_are_told_at_once() -> None:
    assert set(faults({"failUnder": "x", "minCoverage": "x", "other": "x"})) == {
        "failUnder",
        "minCoverage",
        "other",
    }


@pytest.mark.parametrize("query", [{"failUnder": "7"}, {"failUnder": "7", "noRegression": "false"}])
def test_tolerance_without_the_check_it_belongs_to_is_refused(query: dict[str, str]) -> None:
    assert set(faults({**query, "tolerance": "1"})) == {"tolerance"}


def test_tolerance_is_half_a_point_unless_given() -> None:
    assert read({"noRegression": "1"}).tolerance == Fraction(1, 2)
    assert read({"noRegression": "1", "tolerance": "0"}).tolerance == 0


@pytest.mark.parametrize("query", [{}, {"noRegression": "0"}, {"baseline": "pinned"}, {"record": "true"}])
def test_gate_without_a_check_is_refused(query: dict[str, str]) -> None:
    assert set(faults(query)) == {""}


def test_coverage_is_checked_where_the_plane_checks_it_unless_given() -> None:
    assert read({}, default_coverage=Fraction(1)).min_coverage == 1
    assert read({"minCoverage": "0.5"}, default_coverage=Fraction(1)).min_coverage == Fraction(1, 2)
    assert read({"failUnder": "7"}).min_coverage is None
