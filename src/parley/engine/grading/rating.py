"""Reading ratings, and one rating of several votes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from parley.engine.judging.opinion import ReadOpinion, Scale

RATING: Final = Scale("rating", 10)
"""What the judge of one answer is asked for (product contract)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """One vote: what the judge said, or why nothing could be read."""

    opinion: ReadOpinion | None
    problem: str | None = None
    code: str | None = None


def decided(votes: Sequence[Vote]) -> Vote:
    """The vote that counts: the median of those that could be read, with its reasons.

    Of an even number the lower of the two in the middle. If half of the votes or more are unreadable
    nothing counts: the first unreadable one is given back, and says why. Raises ValueError without a vote.
    """
    if not votes:
        raise ValueError("there is no vote")
    read = sorted((vote for vote in votes if vote.opinion is not None), key=_rating)
    if 2 * len(read) <= len(votes):
        return next(vote for vote in votes if vote.opinion is None)
    return read[(len(read) - 1) // 2]


def _rating(vote: Vote) -> Decimal:
    return vote.opinion.score if vote.opinion else Decimal(0)
