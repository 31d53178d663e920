"""Sentences in which somebody speaks about the part it plays. English; other languages pass."""

from __future__ import annotations

import re

from parley.engine.simulator.exit_token import EXIT_TOKEN

_I_MUST = (
    r"i(?: should| must| will|'ll| need to| have to|(?: am|'m) (?:supposed|going) to)(?: now)?"
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
    r"play(?:ing)? the (?:role|part) of (?:the|a) (?:user|customer)\b",
    rf"as the user,? {_I_MUST} (?:ask|say|express|provide|keep|{_ACT})\b",
    (
        r"my goal (?:here |as the user )?is to (?:test|evaluate|probe|(?:check|see) (?:how|whether|if))\b"
        r"[^.!?\n]{0,40}\b(?:the|this) (?:ai|assistant|agent|bot|chatbot|llm)\b"
    ),
    r"(?:according to|as per|following|based on) my (?:persona|(?:role|character) description)\b",
    (
        r"my (?:brief|persona|scenario|prompt|system prompt|instructions|role) "
        rf"(?:is|are|were|says?|tells? me|asks? me|requires? me) (?:to|that i (?:should|must)) {_ACT}\b"
    ),
    rf"i(?: was|'ve been| have been) (?:told|instructed|asked|prompted) to {_ACT} as {_PART}",
    r"in this simulation,? i(?:'m| am| should| must| play| need)\b",
    r"the (?:validation|evaluation|judging) criteria (?:of|for) th(?:is|e) (?:test|talk|conversation)\b",
    r"here(?:'s| is) (?:my|the) (?:next )?(?:message|reply|response) as the (?:user|customer)\b",
)
# The word boundary stands once, before all of them: it makes the search several times faster.
_PLAN = re.compile(r"\b(?:" + "|".join(_PLANS) + ")")
_HEADING = re.compile(
    r"^[*_(\[\s]{0,4}(?:thought|thinking|chain of thought|internal (?:note|thoughts?|monologue))"
    r"[*_]{0,2} ?:",
    re.MULTILINE,
)
_ABOUT_THE_USER = re.compile(
    r"\W{0,4}(?:ok|okay|so|now|hmm|alright),? the user (?:wants|asked|asks|is asking|expects|said|just)\b"
)
"""Only at the very beginning: further on, people do speak of users."""

_MACHINERY = re.compile(
    r"</?(?:think|thinking|scratchpad)\s*>|\bsimulated[ _]user\b|\bexit[ _-]token\b|"
    + re.escape(EXIT_TOKEN.strip("</>").lower()),
)


def talks_of_plan(text: str) -> bool:
    """Whether `text` (lower case, quotations taken out) speaks about its own role, brief or simulation."""
    return bool(_ABOUT_THE_USER.match(text) or _HEADING.search(text) or _PLAN.search(text))


def names_machinery(text: str) -> bool:
    """Whether `text` (lower case) holds what only the machinery around the simulated user says."""
    return _MACHINERY.search(text) is not None
