"""A fence around data in a prompt that nothing inside the data can close."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence

_CHARS = 12
"""Length of a mark: 48 bits, so that nobody meets it by chance."""


class Fence:
    """Writes data between `<name-mark>` and `</name-mark>`, the mark standing nowhere in the data.

    The mark comes from `secret`, which whoever wrote the data was never told, so it cannot be guessed from
    inside; and it is looked for in the data, so that even a lucky guess would be no use. The same secret
    gives the same mark, which lets providers reuse their cache of the prompt's beginning.
    """

    def __init__(self, secret: str, data: Sequence[str]) -> None:
        lowered = [text.lower() for text in data]
        marks = (_mark(secret, count) for count in itertools.count())
        self._mark = next(mark for mark in marks if not any(mark in text for text in lowered))

    def around(self, name: str, text: str) -> str:
        """`text` in its fence."""
        return f"<{name}-{self._mark}>\n{text}\n</{name}-{self._mark}>"


def _mark(secret: str, count: int) -> str:
    return hashlib.sha256(f"fence/{count}/{secret}".encode()).hexdigest()[:_CHARS]
