"""Text that Postgres, JSON and every client can hold. `engine.text.clean` makes it of any other."""

from __future__ import annotations

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def is_storable(text: str) -> bool:
    """Whether `text` is free of NUL (refused by Postgres) and of lone surrogates (not UTF-8)."""
    return _UNSTORABLE.search(text) is None
