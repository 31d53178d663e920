"""Whether a simulated user's reply is fit to be sent.

The patterns are few and narrow: a bad reply that slips through costs one odd turn, a good one that is
turned down twice costs the run. They know English; other languages pass.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

from parley.engine.blank import is_blank
from parley.engine.simulator.helper_talk import talks_as_helper
from parley.engine.simulator.plan_talk import names_machinery, talks_of_plan

ReplyFault: TypeAlias = Literal[
    "reply_empty", "reply_role_swap", "reply_plan_leak", "reply_two_sided", "reply_repeated"
]

LONG_CHARS = 40
"""From this length on a message is no answer that people give twice, such as "Yes, please."."""


class Heard(Protocol):
    """What the reply's filter noticed."""

    @property
    def exited(self) -> bool:
        """Whether the user leaves with this reply."""
        ...

    @property
    def foreign(self) -> bool:
        """Whether the reply went on with a line of the other side."""
        ...


def fault_of_reply(text: str, previous_user_texts: Sequence[str], heard: Heard) -> ReplyFault | None:
    """What is wrong with a complete reply whose visible words are `text`, or None.

    A reply that holds nothing but the other side's words is a role swap; leaving without a word is no
    fault here. A repeat is the last message over again, or a long one of any earlier turn.
    """
    if is_blank(text):
        return "reply_role_swap" if heard.foreign else None if heard.exited else "reply_empty"
    lowered = text.lower()
    own = _without_quotes(lowered)
    if names_machinery(lowered) or talks_of_plan(own):
        return "reply_plan_leak"
    if talks_as_helper(own):
        return "reply_role_swap"
    if heard.foreign:
        return "reply_two_sided"
    if _is_repeat(text, previous_user_texts):
        return "reply_repeated"
    return None


def _is_repeat(text: str, previous: Sequence[str]) -> bool:
    plain = _plain(text)
    compared = previous if len(plain) >= LONG_CHARS else previous[-1:]
    return any(_plain(other) == plain for other in compared)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


# Quotations within one line, and lines quoted as in mail. The bound keeps hostile text from costing much.
_QUOTED = re.compile(
    '"[^"\n]{0,500}"|\u201c[^\u201d\n]{0,500}\u201d|\u00ab[^\u00bb\n]{0,500}\u00bb|^>.*$', re.MULTILINE
)


def _without_quotes(text: str) -> str:
    """What the user says itself, with plain apostrophes: it may well quote what it was told."""
    return _QUOTED.sub(" ... ", text).replace("\u2019", "'")
