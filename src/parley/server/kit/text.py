"""Text that Postgres, JSON and every client can hold."""

from __future__ import annotations

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def is_storable(text: str) -> bool:
    """Whether `text` is free of NUL (refused by Postgres) and of lone surrogates (not UTF-8)."""
    return _UNSTORABLE.search(text) is None


def storable(text: str) -> str:
    """`text` with each NUL and each lone surrogate visibly replaced by U+FFFD."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)
