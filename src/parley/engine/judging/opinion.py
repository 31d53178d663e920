"""Reading a judge's reply: a score and the reasons for it, or a refusal to guess."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any, Literal, TypeAlias

from parley.engine.blank import is_blank
from parley.engine.chat.pieces import FinishReason
from parley.engine.judging.claims import ClaimUnreadable, claims
from parley.engine.text import clean

OpinionCode: TypeAlias = Literal[
    "opinion_refused",
    "opinion_cut",
    "opinion_empty",
    "opinion_too_long",
    "opinion_without_object",
    "opinion_malformed",
    "opinion_ambiguous",
    "opinion_incomplete",
    "opinion_out_of_range",
]

MAX_CHARS = 200_000
"""Longer replies are not read: many times what a judge writes, and a bound on the work."""

_DIGITS = Context(prec=28, rounding=ROUND_HALF_EVEN)
"""More digits than any llm means; those of a number that cannot be less than 0 or more than 1."""
_PLAIN_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,99})?")
"""What a score in quotes may look like: no sign, percent, fraction, comma or exponent."""


@dataclass(frozen=True, slots=True)
class Scale:
    """What a judge is asked for: a number from 0 to `highest` under `key`."""

    key: str
    highest: int


SCORE = Scale("score", 1)
"""How a conversation stands (product contract)."""


class OpinionUnreadable(Exception):
    """No opinion can be taken from a reply.

    `problem` is a sentence that tells a judge, and the person who reads the run, what was wrong. It
    holds nothing of the reply.
    """

    def __init__(self, code: OpinionCode, problem: str) -> None:
        super().__init__(problem)
        self.code: OpinionCode = code
        self.problem = problem


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOpinion:
    """What a judge said: reasons that are not blank, and a score on the scale asked for, not yet clamped."""

    reasoning: str
    score: Decimal


def read_opinion(text: str, finish_reason: FinishReason, refused: bool, scale: Scale = SCORE) -> ReadOpinion:
    """The opinion in a complete reply. Raises `OpinionUnreadable`, and nothing else.

    Accepted is one JSON object with `reasoning` and the scale's key, alone, fenced, or amid prose; thinking
    in tags is skipped, other keys are ignored, and the same opinion may stand there twice. Objects
    with neither key are prose. Where there is any doubt which score was meant (two opinions that
    differ, an object that is broken, a key given twice) nothing is taken: asking again is cheap and a
    wrong score is not. A line break inside a JSON string is let pass; it puts no number in doubt.
    """
    if refused or finish_reason == "content_filter":
        raise OpinionUnreadable("opinion_refused", "The judge refused to give an opinion.")
    if finish_reason == "length":
        raise OpinionUnreadable("opinion_cut", "The judge's reply was cut off by its token limit.")
    if is_blank(text):
        raise OpinionUnreadable("opinion_empty", "The judge's reply was empty.")
    if len(text) > MAX_CHARS:
        raise OpinionUnreadable("opinion_too_long", "The judge's reply was far too long.")
    opinions = [_opinion(found, scale) for found in _claims(text, scale)]
    if not opinions:
        raise OpinionUnreadable(
            "opinion_without_object", f'The reply held no JSON object with "reasoning" and "{scale.key}".'
        )
    if any(other != opinions[0] for other in opinions):
        raise OpinionUnreadable("opinion_ambiguous", "The reply held several opinions that differ.")
    return opinions[0]


def _claims(text: str, scale: Scale) -> list[dict[str, Any]]:
    try:
        return claims(text, {"reasoning", scale.key})
    except ClaimUnreadable as unreadable:
        raise OpinionUnreadable("opinion_malformed", unreadable.problem) from None


def _opinion(claim: dict[str, Any], scale: Scale) -> ReadOpinion:
    reasoning, score = claim.get("reasoning"), claim.get(scale.key)
    if not isinstance(reasoning, str) or is_blank(reasoning):
        raise OpinionUnreadable("opinion_incomplete", '"reasoning" must be a text that says something.')
    return ReadOpinion(reasoning=clean(reasoning), score=_score(score, scale))


def _score(value: object, scale: Scale) -> Decimal:
    if isinstance(value, str) and _PLAIN_NUMBER.fullmatch(value.strip()):
        value = Decimal(value.strip())
    if not isinstance(value, Decimal):
        raise OpinionUnreadable(
            "opinion_incomplete", f'"{scale.key}" must be a number from 0 to {scale.highest}.'
        )
    if not 0 <= value <= scale.highest:
        raise OpinionUnreadable(
            "opinion_out_of_range", f'"{scale.key}" must lie between 0 and {scale.highest}.'
        )
    return _DIGITS.plus(value)
