"""Cutting the exit token out of a stream, wherever the stream is cut itself."""

from __future__ import annotations

from collections.abc import Iterator

from parley.engine.simulator.exit_token import EXIT_TOKEN

_FIRST = EXIT_TOKEN[0]
_UPPER, _LOWER = EXIT_TOKEN.upper(), EXIT_TOKEN.lower()


class TokenFilter:
    """Lets text through without the exit token, in any case of its letters and any pieces.

    What may be the token's beginning is held back and released once it turns out not to be. Text
    that the removal of a token would join to another token is removed too, so that the token never
    stands in what came through.
    """

    def __init__(self) -> None:
        self._held: list[str] = []
        # Lengths of the beginnings in `_held`, one behind the other: an outer one goes on when the one
        # inside it turned out to be a token and is gone.
        self._begun: list[int] = []

    def passes(self, piece: str) -> bool:
        """Whether `piece` comes through as it is: nothing is held back, and nothing in it may be a token."""
        return not self._begun and _FIRST not in piece

    def feed(self, piece: str) -> str:
        """What of the stream may be shown now that `piece` has come."""
        return "".join(text for text in self.split(piece) if text is not None)

    def close(self) -> str:
        """What was held back, once the stream has ended."""
        return self._released()

    def split(self, piece: str) -> Iterator[str | None]:
        """The texts that come through with `piece`, and None where a token stood."""
        at = 0
        while at < len(piece):
            if not self._begun:
                start = piece.find(_FIRST, at)
                if start == -1:
                    yield piece[at:]
                    return
                yield piece[at:start]
                at = start
            if self._takes(piece[at]):
                if self._begun[-1] == len(EXIT_TOKEN):
                    del self._held[-self._begun.pop() :]
                    yield None
                at += 1
            else:
                yield self._released()

    def _takes(self, character: str) -> bool:
        """Hold `character` back if it begins a token or goes on with one."""
        if character == _FIRST:
            self._begun.append(1)
        elif character in (_UPPER[self._begun[-1]], _LOWER[self._begun[-1]]):
            self._begun[-1] += 1
        else:
            return False
        self._held.append(character)
        return True

    def _released(self) -> str:
        text = "".join(self._held)
        self._held.clear()
        self._begun.clear()
        return text
