from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.engine.grading.rating import RATING, Vote, decided
from parley.engine.judging.opinion import OpinionUnreadable, ReadOpinion, read_opinion

UNREAD = Vote(opinion=None, problem="It was empty.", code="opinion_empty")


def vote(rating: int) -> Vote:
    return Vote(opinion=ReadOpinion(reasoning=f"Because {rating}.", score=Decimal(rating)))


def rated(votes: list[Vote]) -> Decimal | None:
    opinion = decided(votes).opinion
    return opinion.score if opinion else None


@pytest.mark.parametrize(
    ("votes", "wanted"),
    [
        ([vote(7)], 7),
        ([vote(9), vote(2), vote(8)], 8),
        ([vote(9), UNREAD, vote(2)], 2),
        ([vote(9), UNREAD, UNREAD], None),
        ([UNREAD], None),
        ([vote(1), vote(2), UNREAD, vote(9), UNREAD], 2),
    ],
)
def test_median_of_the_readable_counts_if_they_are_the_most(votes: list[Vote], wanted: int | None) -> None:
    assert rated(votes) == wanted


@given(st.lists(st.integers(0, 10), min_size=1, max_size=5).flatmap(st.permutations))
def test_order_of_the_votes_does_not_matter_and_the_rating_is_one_of_them(ratings: list[int]) -> None:
    found = rated([vote(rating) for rating in ratings])
    assert found in ratings
    assert found == rated([vote(rating) for rating in sorted(ratings)])


def test_no_votes_are_refused() -> None:
    with pytest.raises(ValueError, match="no vote"):
        decided([])


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ('{"reasoning": "Good.", "rating": 10}', 10),
        ('Sure!\n```json\n{"reasoning": "Good.", "rating": 7.5}\n```', Decimal("7.5")),
        ('<think>{"reasoning": "x", "rating": 1}</think>{"reasoning": "Good.", "rating": "8"}', 8),
        ('{"reasoning": "Good.", "rating": 0}', 0),
    ],
)
def test_rating_is_read_by_the_rules_of_opinions(reply: str, wanted: Decimal) -> None:
    assert read_opinion(reply, "stop", False, RATING).score == wanted


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ('{"reasoning": "Good.", "rating": 10.01}', "opinion_out_of_range"),
        ('{"reasoning": "Good.", "rating": -1}', "opinion_out_of_range"),
        ('{"reasoning": "Good.", "rating": true}', "opinion_incomplete"),
        ('{"reasoning": "Good.", "rating": "8/10"}', "opinion_incomplete"),
        ('{"reasoning": "Good.", "score": 8}', "opinion_incomplete"),
        ('{"reasoning": "Good.", "rating": NaN}', "opinion_malformed"),
        ('{"reasoning": "A.", "rating": 8} {"reasoning": "B.", "rating": 2}', "opinion_ambiguous"),
        ('{"rating": 8, "rating": 2, "reasoning": "A."}', "opinion_malformed"),
        ("Eight.", "opinion_without_object"),
    ],
)
def test_rating_in_doubt_is_refused_in_the_words_of_its_scale(reply: str, code: str) -> None:
    with pytest.raises(OpinionUnreadable) as refused:
        read_opinion(reply, "stop", False, RATING)
    assert refused.value.code == code
    assert "score" not in refused.value.problem
