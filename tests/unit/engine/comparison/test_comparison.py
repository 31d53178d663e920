from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parley.engine.comparison import CaseClass, Comparison, compare, pair
from parley.engine.stats.graded import Graded
from tests.factories.graded import Rating, a_case, graded


def compared(before: Any, now: Any, **more: Any) -> Comparison:
    return compare(graded(now, "now", **more), graded(before, "before"))


def kind_of(before: Rating | list[Rating], now: Rating | list[Rating]) -> CaseClass:
    return compared([before], [now]).pairing.cases[0].kind


@pytest.mark.parametrize(
    ("before", "now", "kind"),
    [
        (9, "8.5", "unchanged"),
        (9, "8.499999999", "regressed"),
        (9, "9.5", "unchanged"),
        (9, "9.500000001", "improved"),
        (7, "6.9", "regressed"),
        ("6.9", 7, "improved"),
        (8, 8, "unchanged"),
        (8, "failed", "regressed"),
        ("failed", "failed", "unchanged"),
        (8, None, "inconclusive"),
        (None, 8, "inconclusive"),
        (None, None, "inconclusive"),
        (8, "NaN", "inconclusive"),
        (8, "open", "inconclusive"),
    ],
)
def test_case_is_classed_by_its_rating_and_its_verdict(before: Rating, now: Rating, kind: CaseClass) -> None:
    assert kind_of(before, now) == kind


@pytest.mark.parametrize(
    ("before", "now", "kind"),
    [
        ([10, 10, 10, 10, 0], [0, 0, 0, 0, 10], "regressed"),
        ([0, 0, 0, 0, 10], [10, 10, 10, 10, 0], "improved"),
        ([10, 10, 10, 10, 0], [10, 10, 10, 0, 0], "inconclusive"),
        ([10, 8], [9, 7], "regressed"),  # three of four pairings fell, one rose
        ([10, 8], [9, 9], "unchanged"),
        ([9, 8], [8, 7], "regressed"),  # three fell, one tied
        ([10, 6], [8, 7], "inconclusive"),  # most pass now and did not before, and the mean fell by 0.5
        ([10, 5], [8, 8], "inconclusive"),  # most pass now, yet only half of the pairings rose
        ([10, 10], [None, 0], "regressed"),
        ([10, 10, 0], [0, None, None], "regressed"),  # one side is not repeated: nothing overlaps
    ],
)
def test_repeated_case_moved_if_its_repetitions_hardly_overlap(
    before: list[Rating], now: list[Rating], kind: CaseClass
) -> None:
    assert kind_of(before, now) == kind


def test_rating_and_verdict_that_part_are_not_decided() -> None:
    before, now = graded([8], "before"), graded([9], "now")
    turned = tuple(
        type(result)(case_id=result.case_id, status="rated", rating=result.rating, passed=False)
        for result in now.results
    )
    verdict = pair(graded([9], "now", results=turned), before).cases[0]
    assert (verdict.kind, verdict.detail) == (
        "inconclusive",
        "Its rating and its verdict moved in opposite directions.",
    )


@pytest.mark.parametrize(
    ("apart", "named"),
    [
        ({"content_hash": "other"}, "content"),
        ({"grader_hash": "x"}, "grader"),
        ({"target_hash": "x"}, "target"),
    ],
)
def test_case_that_is_no_longer_the_same_is_changed_and_does_not_count(
    apart: dict[str, str], named: str
) -> None:
    now = graded({"a": 1, "b": 5}, cases=(a_case("a", **apart), a_case("b")))
    found = compare(now, graded({"a": 9, "b": 5}, "before"))
    assert [case.kind for case in found.pairing.cases] == ["changed", "unchanged"]
    assert found.pairing.cases[0].detail == f"Differs in {named}."
    assert (found.delta, found.pairing.refused) == (Fraction(0), False)
    assert [(each.what, each.detail) for each in found.pairing.differences] == [
        ("cases", "Cases that do not pair: 1 changed.")
    ]


def test_new_and_missing_cases_are_told_and_do_not_count() -> None:
    found = compared({"old": 9, "both": 9}, {"both": 8, "new": 1})
    assert {case.case_id: case.kind for case in found.pairing.cases} == {
        "both": "regressed",
        "new": "new",
        "old": "missing",
    }
    assert (found.delta, found.pairing.deltas) == (Fraction(-1), [Fraction(-1)])


@pytest.mark.parametrize(
    ("apart", "what"),
    [
        ({"subject": "another"}, "subject"),
        ({"grading_hash": "another"}, "grader"),
        ({"split": "smoke"}, "split"),
    ],
)
def test_evaluations_of_two_lines_are_not_compared_and_the_refusal_says_why(
    apart: dict[str, str], what: str
) -> None:
    """C205: another grader is no measure."""
    found = compared([9] * 8, [1] * 8, **apart)
    assert found.pairing.refused
    assert [difference.what for difference in found.pairing.differences if difference.what != "cases"] == [
        what
    ]
    assert (found.delta, found.interval, found.test, found.fell) == (None, None, None, 0)


def test_evaluations_without_a_case_in_common_are_not_compared() -> None:
    found = compared({"a": 9}, {"b": 9})
    assert found.pairing.refused
    assert (
        found.pairing.differences[-1].detail == "No case is in both with the same content, grader and target."
    )


def test_delta_weighs_each_case_once_however_often_it_is_repeated() -> None:
    found = compared({"a": [8, 8, 8, 8], "b": 4}, {"a": [10, 10, 10, 10], "b": 4})
    assert found.delta == Fraction(1)


def test_verdicts_that_changed_are_counted_each_way() -> None:
    found = compared([9, 9, 9, 1, 9], [1, 1, 9, 9, None])
    assert (found.fell, found.rose, found.verdicts_p) == (2, 1, 1.0)


RATINGS = st.lists(st.one_of(st.none(), st.integers(0, 10)), min_size=2, max_size=12)


@settings(max_examples=30)
@given(RATINGS.flatmap(lambda before: st.tuples(st.just(before), st.permutations(before))))
def test_turning_the_sides_round_turns_every_class_round(sides: tuple[list[Any], list[Any]]) -> None:
    there, back = compared(*sides), compared(sides[1], sides[0])
    turned = {"improved": "regressed", "regressed": "improved"}
    assert [turned.get(case.kind, case.kind) for case in there.pairing.cases] == [
        case.kind for case in back.pairing.cases
    ]
    assert there.pairing.deltas == [-delta for delta in back.pairing.deltas]


def test_evaluation_compared_with_itself_shows_nothing() -> None:
    same = graded([1, 5, 9, None, "failed"])
    found = compare(same, same)
    assert found.test is not None
    assert (found.delta, found.test.changed, found.pairing.count("unchanged")) == (Fraction(0), 0, 4)


def test_same_comparison_gives_the_same_interval() -> None:
    before: Graded = graded([n % 11 for n in range(40)], "before")
    now = graded([(n * 7) % 11 for n in range(40)], "now")
    assert compare(now, before) == compare(now, before)
