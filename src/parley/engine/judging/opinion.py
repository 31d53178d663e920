"""Reading a judge's reply: a score from 0 to 1 and the reasons for it, or a refusal to guess."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from typing import Any, Literal, NoReturn, TypeAlias

from parley.engine.chat.pieces import FinishReason
from parley.engine.simulator.blank import is_blank
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
_MARK = re.compile(
    r'(?P<object>\{\s*["}])|<(?P<closing>/?)(?P<tag>think|thinking|thought|reasoning)\s*>', re.IGNORECASE
)
_KEYS = frozenset({"reasoning", "score"})


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
    """What a judge said: reasons that are not blank, and a score from 0 to 1, not yet clamped."""

    reasoning: str
    score: Decimal


def read_opinion(text: str, finish_reason: FinishReason, refused: bool) -> ReadOpinion:
    """The opinion in a complete reply. Raises `OpinionUnreadable`, and nothing else.

    Accepted is one JSON object with `reasoning` and `score`, alone, fenced, or amid prose; thinking
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
    opinions = [_opinion(found) for found in _claims(text)]
    if not opinions:
        raise OpinionUnreadable(
            "opinion_without_object", 'The reply held no JSON object with "reasoning" and "score".'
        )
    if any(other != opinions[0] for other in opinions):
        raise OpinionUnreadable("opinion_ambiguous", "The reply held several opinions that differ.")
    return opinions[0]


def _claims(text: str) -> list[dict[str, Any]]:
    """The objects outside of thinking that hold `reasoning` or `score`, in one pass over `text`."""
    claims: list[dict[str, Any]] = []
    at = 0
    while mark := _MARK.search(text, at):
        if mark["object"]:
            value, at = _object(text, mark.start())
            if not _KEYS.isdisjoint(value):
                claims.append(value)
        elif mark["closing"]:
            # Some templates open the thinking in the prompt, so that a reply only closes it.
            claims.clear()
            at = mark.end()
        else:
            at = _end_of_thinking(text, mark)
    return claims


def _end_of_thinking(text: str, opening: re.Match[str]) -> int:
    closing = re.compile(rf"</{opening['tag']}\s*>", re.IGNORECASE).search(text, opening.end())
    return closing.end() if closing else len(text)


def _object(text: str, start: int) -> tuple[dict[str, Any], int]:
    try:
        value, end = _DECODER.raw_decode(text, start)
    except RecursionError:
        raise OpinionUnreadable("opinion_malformed", "The reply's JSON was nested too deeply.") from None
    except (ValueError, InvalidOperation):
        raise OpinionUnreadable("opinion_malformed", "The reply's JSON could not be read.") from None
    return value, end


def _opinion(claim: dict[str, Any]) -> ReadOpinion:
    reasoning, score = claim.get("reasoning"), claim.get("score")
    if not isinstance(reasoning, str) or is_blank(reasoning):
        raise OpinionUnreadable("opinion_incomplete", '"reasoning" must be a text that says something.')
    return ReadOpinion(reasoning=clean(reasoning), score=_score(score))


def _score(value: object) -> Decimal:
    if isinstance(value, str) and _PLAIN_NUMBER.fullmatch(value.strip()):
        value = Decimal(value.strip())
    if not isinstance(value, Decimal):
        raise OpinionUnreadable("opinion_incomplete", '"score" must be a number from 0 to 1.')
    if not 0 <= value <= 1:
        raise OpinionUnreadable("opinion_out_of_range", '"score" must lie between 0 and 1.')
    return _DIGITS.plus(value)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise OpinionUnreadable("opinion_malformed", "The reply's JSON gave one key twice.")
    return value


def _refuse_constant(_name: str) -> NoReturn:
    raise OpinionUnreadable("opinion_malformed", "The reply's JSON held a number that is not finite.")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_float=Decimal,
    parse_int=Decimal,
    parse_constant=_refuse_constant,
    strict=False,
)
