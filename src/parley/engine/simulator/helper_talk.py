"""Beginnings of sentences that only the helping side says. English; other languages pass."""

from __future__ import annotations

import re

_OPENER = (
    r"(?:(?:hi|hello|hey|sure|great|okay|ok|well|welcome|thanks?|thank you|of course|certainly|absolutely"
    r"|no problem)\b[^,:\u2013\u2014]{0,40}[,:\u2013\u2014]\s*)?(?:and |so |now )?"
)
_I_AM = r"i(?:'m| am)"
_MACHINE = r"(?:ai|virtual) (?:language model|assistant|chatbot|agent|model)"

_SAYINGS = (
    (
        r"how (?:can|may|could) i (?:help|assist|be of (?:help|assistance|service))(?: you)?"
        r"(?: today| further| with (?:that|this|your \w+)(?: today)?)?\s*[?!.]"
    ),
    r"what can i (?:help|assist) you with\b",
    r"what can i do for you\b",
    r"is there anything else (?:that )?i can (?:help|assist) (?:you )?with\b",
    r"is there anything else (?:that )?i can (?:do for|help|assist) you\b",
    rf"as (?:an ai|(?:an?|your) {_MACHINE}),? i(?:'m|'ll| am| can| cannot| do| don't| have| was| will)\b",
    r"as (?:a|your) (?:customer )?(?:support|service) (?:agent|assistant|representative),? i\b",
    # Not "an AI assistant developer" or "agent tester": those are people.
    rf"{_I_AM} (?:an?|your) {_MACHINE}\b(?! \w+(?:er|or|ist)\b)",
    rf"{_I_AM} a large language model\b",
    rf"{_I_AM} here to (?:help|assist) you\b",
    r"i(?:'d|'ll| would| will) be (?:happy|glad) to (?:help|assist) you with (?:that|this|your \w+)",
    # A customer may thank for reaching out, but not for reaching out to us.
    r"thank(?:s| you) for (?:contacting|calling|reaching out to) (?:us|our)\b",
    (
        r"(?:please|could you|can you|may i have)(?: please)?(?: (?:provide|share|give|tell|send))?"
        r"(?: me| us)?(?: with)? your (?:order|booking|account|customer) (?:number|id)\b"
    ),
    r"let me (?:check|look up|pull up|look into) your (?:order|booking|account)\b",
)

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_HELPER = re.compile(_OPENER + "(?:" + "|".join(_SAYINGS) + ")")
_MARGIN = " \t*_-\u2013\u2014,;:"


def talks_as_helper(text: str) -> bool:
    """Whether a sentence of `text` (lower case, quotations taken out) begins as only a helper's do."""
    return any(_HELPER.match(sentence.lstrip(_MARGIN)) for sentence in _SENTENCE.findall(text))
