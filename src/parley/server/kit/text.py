"""Text that Postgres, JSON and every client can hold. `engine.text.clean` makes it of any other."""

from __future__ import annotations

import re

_BREAKS = re.compile("[\x01-\x1f\x7f-\x9f\u2028\u2029]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def is_one_line(text: str) -> bool:
    """Whether `text` has no control characters and no ends of lines: what names are made of, so that they
    stay what they are in a terminal, a header, a CSV and a list. NUL is refused in every text anyway."""
    return _BREAKS.search(text) is None


def is_storable(text: str) -> bool:
    """Whether `text` is free of NUL (refused by Postgres) and of lone surrogates (not UTF-8)."""
    return _UNSTORABLE.search(text) is None
