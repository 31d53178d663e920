"""Whether a judge's quotes were ever said."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

_GAP = re.compile(r"\[\s*(?:\.{3}|…)\s*\]|\.{3}|…")
"""How people and judges leave something out of a quote."""
_SPACES = re.compile(r"\s+")
_LOOKS = str.maketrans("\u201c\u201d\u201e\u2018\u2019\u201a\u2013\u2014\u2011", "\"\"\"'''---")
"""Typography that a judge may change without inventing anything."""
_AROUND = " \"'`.,;:"


class Said:
    """All that a judge was shown, to look quotes up in."""

    def __init__(self, shown: Iterable[Any]) -> None:
        texts: list[str] = []
        for value in shown:
            texts += _texts(value)
            if not isinstance(value, str):
                texts.append(json.dumps(value, ensure_ascii=False))
        self._texts = [_plain(text) for text in dict.fromkeys(texts)]
        self.chars = sum(map(len, self._texts))
        """Looked through for one quote, at most."""

    def has(self, quote: str) -> bool:
        """Whether `quote` was said: its parts, where it leaves something out, in this order within one text.

        White space, quotation marks, dashes and letter case do not count. A quote without a word was
        never said.
        """
        parts = [part for part in (_plain(piece).strip(_AROUND) for piece in _GAP.split(quote)) if part]
        return bool(parts) and any(_has_in_order(text, parts) for text in self._texts)


def _has_in_order(text: str, parts: list[str]) -> bool:
    at = 0
    for part in parts:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _plain(text: str) -> str:
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", text).translate(_LOOKS)).casefold()
