"""Which text nobody can see."""

from __future__ import annotations

import re

# White space, control characters, and what Unicode calls default ignorable (zero-width, joiners,
# direction marks, variation selectors, tags), with the fillers that fonts draw as nothing.
_BLANK = re.compile(
    r"[\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]*"
)


def is_blank(text: str) -> bool:
    """Whether nothing in `text` can be seen: empty, white space, control or invisible characters alone."""
    return _BLANK.fullmatch(text) is not None


def leading_blanks(text: str) -> int:
    """How many characters at the beginning of `text` cannot be seen."""
    found = _BLANK.match(text)
    return found.end() if found else 0
