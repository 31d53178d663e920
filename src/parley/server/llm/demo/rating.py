"""How the demo's judge rates one answer: by the words it shares with what was expected."""

from __future__ import annotations

import re
from collections.abc import Iterator

import orjson

from parley.server.llm.demo.behaviours import Say
from parley.server.llm.demo.request import ChatRequest

WITHOUT_EXPECTATION = 8.0
"""The rating of an answer to a question of which nothing is known."""
LOWEST, HIGHEST = 2.0, 9.5

_FENCED = re.compile(
    r"<(?P<name>expected|answer)-(?P<mark>[0-9a-f]{12})>\n(?P<text>.*?)\n</(?P=name)-(?P=mark)>", re.S
)
_WORD = re.compile(r"\w{3,}")


def rates(request: ChatRequest) -> bool:
    """Whether the request wants a rating of an answer rather than an opinion on a conversation."""
    return "rating" in (request.response_schema or {}).get("properties", {})


def rated(request: ChatRequest) -> Say:
    """The rating, with its reason: the share of expected words that the answer has."""
    expected = set(_words(request.text, "expected"))
    share = len(expected & set(_words(request.text, "answer"))) / len(expected) if expected else None
    if share is None:
        return _said(WITHOUT_EXPECTATION, "Nothing was expected in particular, and the answer is an answer.")
    words = f"The answer has {share:.0%} of the words that a good answer holds."
    return _said(round(LOWEST + (HIGHEST - LOWEST) * share, 1), words)


def _said(rating: float, reasoning: str) -> Say:
    return Say(orjson.dumps({"reasoning": reasoning, "rating": rating}).decode(), chunks=8)


def _words(text: str, name: str) -> Iterator[str]:
    for found in _FENCED.finditer(text):
        if found["name"] == name:
            yield from (word.casefold() for word in _WORD.findall(found["text"]))
