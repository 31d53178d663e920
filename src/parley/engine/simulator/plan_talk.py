"""Sentences in which somebody speaks about the part it plays. English; other languages pass."""

from __future__ import annotations

import re

from parley.engine.simulator.exit_token import EXIT_TOKEN

_MUST = r"(?:should|must|will|need to|have to|am supposed to|am going to|'m supposed to|'m going to|'ll)"
_PART = r"(?:the|a) (?:simulated )?(?:user|customer|human|human user)\b"
_PAPERS = r"my (?:brief|persona|scenario|system prompt|prompt|role description|characteristics)"

_PLANS = (
    rf"\bi ?{_MUST} (?:now )?(?:continue to )?(?:act|behave|respond|reply|answer|write|speak) "
    rf"(?:as|like|in the voice of) {_PART}",
    rf"\bi ?{_MUST} (?:now )?(?:continue to )?(?:pretend to be|play) {_PART}",
    rf"\b{_MUST} (?:stay|remain) in character\b",
    r"\bplay(?:ing)? the (?:role|part) of (?:the|a) (?:user|customer)\b",
    rf"\bas the user,? i ?{_MUST}",
    # "My goal is to lose weight", or "to test my blood sugar daily", is what customers say.
    r"\bmy goal (?:is|here is|as the user is) to (?:test|evaluate|probe|get|make|see|check)\b[^.!?\n]{0,40}"
    r"\b(?:the|this) (?:ai|assistant|agent|bot|chatbot|llm)\b",
    rf"\b(?:according to|as per|per|following|based on) {_PAPERS}\b",
    rf"\b{_PAPERS} (?:says?|tells? me|asks? me|wants? me|requires?|states?)\b",
    r"\bmy instructions (?:are|were|say|tell me|ask me) (?:that i|to) (?:act|behave|respond|reply|play|pretend"
    r"|test|stay|should|must)\b",
    r"\bthe user (?:wants|asked|is asking|expects) me to\b",
    r"\bin this (?:simulation|simulated conversation|role-?play)\b",
    r"\bthe (?:validation|evaluation|judging) criteria\b",
    r"\bhere(?:'s| is) (?:the|my) (?:next )?user(?:'s)?(?: next)? (?:message|reply|response)\b",
    r"^[*_(\[\s]{0,4}(?:thought|thinking|chain of thought|internal (?:note|monologue|thoughts?))[*_]{0,2} ?:",
)
_PLAN = re.compile("|".join(_PLANS), re.IGNORECASE | re.MULTILINE)

_MACHINERY = re.compile(
    r"</?(?:think|thinking|scratchpad)\s*>|\bsimulated[ _]user\b|\bexit[ _-]token\b|"
    + re.escape(EXIT_TOKEN.strip("</>")),
    re.IGNORECASE,
)


def talks_of_plan(text: str) -> bool:
    """Whether `text` speaks about its own role, brief or simulation. Quotations are taken out before."""
    return _PLAN.search(text) is not None


def names_machinery(text: str) -> bool:
    """Whether `text` holds what nobody but the machinery around the simulated user says, quoted or not."""
    return _MACHINERY.search(text) is not None
