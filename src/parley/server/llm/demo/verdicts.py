"""How the demo's judge decides on a criterion of a scripted step: whether the agent said anything at all."""

from __future__ import annotations

import re
from typing import Any

import orjson

from parley.server.llm.demo.behaviours import Say
from parley.server.llm.demo.request import ChatRequest

SIGN = "You decide whether one step of a conversation"
"""Stands in the rubric of `engine.script` and in no other prompt."""
QUOTED_CHARS = 60

_OBSERVATION = re.compile(
    r"<observation-(?P<mark>[0-9a-f]{12})>\n(?P<json>.*?)\n</observation-(?P=mark)>", re.S
)


def decides(request: ChatRequest) -> bool:
    """Whether the request wants a verdict on a criterion."""
    return SIGN in request.text


def decided(request: ChatRequest) -> Say:
    """The verdict: met by an answer with words, an output or a question; else nothing can be said."""
    observation = _observation(request)
    text = str(observation.get("text") or "")
    if not (text or observation.get("structured") or observation.get("interrupt")):
        return _said({"reason": "The agent said nothing that could be judged.", "inconclusive": True})
    quotes = [text[:QUOTED_CHARS]] if text.strip() else []
    return _said({"reason": "The agent gave an answer.", "passed": True, "evidence": quotes})


def _observation(request: ChatRequest) -> dict[str, Any]:
    found = _OBSERVATION.search(request.text)
    value = orjson.loads(found["json"]) if found else {}
    return value if isinstance(value, dict) else {}


def _said(verdict: dict[str, Any]) -> Say:
    return Say(orjson.dumps(verdict).decode(), chunks=8)
