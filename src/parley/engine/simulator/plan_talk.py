"""Sentences in which somebody speaks about the part it plays. English; other languages pass."""

from __future__ import annotations

import re

from parley.engine.simulator.exit_token import EXIT_TOKEN

_I_MUST = (
    r"\bi(?: should| must| will|'ll| need to| have to|(?: am|'m) (?:supposed|going) to)(?: now)?"
    r"(?: continue to)?"
)
_PART = r"(?:the|a) (?:simulated )?(?:user|customer|human|human user)\b"
_ACT = r"(?:act|behave|respond|reply|answer|write|speak|pose)"

# Kept apart from what customers do say: "my goal is to test my blood sugar", "as a customer, I expect",
# "stay in character, please", "the user wants me to reset the password", "according to my brief".
_PLANS = (
    rf"{_I_MUST} {_ACT} (?:as|like|in the voice of) {_PART}",
    rf"{_I_MUST} (?:pretend to be|play) {_PART}",
    rf"{_I_MUST} (?:stay|remain) in character\b",
    r"\bplay(?:ing)? the (?:role|part) of (?:the|a) (?:user|customer)\b",
    rf"\bas the user,? {_I_MUST} (?:ask|say|express|provide|keep|{_ACT})\b",
    (
        r"\bmy goal (?:here |as the user )?is to (?:test|evaluate|probe|(?:check|see) (?:how|whether|if))\b"
        r"[^.!?\n]{0,40}\b(?:the|this) (?:ai|assistant|agent|bot|chatbot|llm)\b"
    ),
    r"\b(?:according to|as per|following|based on) my (?:persona|(?:role|character) description)\b",
    (
        r"\bmy (?:brief|persona|scenario|prompt|system prompt|instructions|role) "
        rf"(?:is|are|were|says?|tells? me|asks? me|requires? me) (?:to|that i (?:should|must)) {_ACT}\b"
    ),
    rf"\bi(?: was|'ve been| have been) (?:told|instructed|asked|prompted) to {_ACT} as {_PART}",
    r"\A\W*(?:ok|okay|so|now|hmm|alright),? the user (?:wants|asked|asks|is asking|expects|says|said|just)\b",
    r"\bin this simulation,? i(?:'m| am| should| must| play| need)\b",
    r"\bthe (?:validation|evaluation|judging) criteria (?:of|for) th(?:is|e) (?:test|talk|conversation)\b",
    r"\bhere(?:'s| is) (?:my|the) (?:next )?(?:message|reply|response) as the (?:user|customer)\b",
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
