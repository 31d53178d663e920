"""What of a simulated user's reply is heard, piece by piece."""

from __future__ import annotations

from parley.engine.simulator.own_words import OwnWords
from parley.engine.simulator.token_filter import TokenFilter


class ReplyFilter:
    """A streaming filter: the joined results of `feed` and `close` are the message, exactly as shown.

    - The exit token is cut out wherever it stands, in any case of letters and any pieces; text on
      both sides of it stays, since all of it was meant to be said. It sets `exited` if leaving is
      allowed, and is ignored otherwise. Text that only looks like its beginning comes through.
    - A label of the user's own at the very beginning is dropped.
    - The first line with a label of the other side ends the message and sets `foreign`; a token behind
      it does not count.
    - White space at both ends, and a reply of invisible characters or Markdown marks alone, are
      never shown.
    """

    def __init__(self, *, may_exit: bool) -> None:
        self.exited = False
        self._may_exit = may_exit
        self._token = TokenFilter()
        self._words = OwnWords()

    @property
    def foreign(self) -> bool:
        """Whether the reply went on with a line of the other side."""
        return self._words.is_foreign

    def feed(self, piece: str) -> str:
        """What may be shown now that `piece` has come."""
        if self._token.passes(piece):
            return self._words.feed(piece)
        return "".join(map(self._taken, self._token.split(piece)))

    def close(self) -> str:
        """The rest, once the reply has ended."""
        return self._words.feed(self._token.close()) + self._words.close(drops_stray_markup=self.exited)

    def _taken(self, text: str | None) -> str:
        if text is not None:
            return self._words.feed(text)
        if self._may_exit and not self.foreign:
            self.exited = True
        return ""
