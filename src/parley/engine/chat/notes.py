"""What was unusual about one answer, in words for the person who reads the run."""

from __future__ import annotations

MOST_NOTES = 20


class Notes:
    """Notes of one answer, each once, in order, the first `MOST_NOTES` of them.

    An object of its own, so that whoever notes something need not know the decoder: a cycle of
    references for each inference would leave all its memory to the garbage collector.
    """

    def __init__(self) -> None:
        self._notes: dict[str, None] = {}

    def add(self, text: str) -> None:
        """Note `text`."""
        if len(self._notes) < MOST_NOTES:
            self._notes[text] = None

    def all(self) -> tuple[str, ...]:
        """The notes so far."""
        return tuple(self._notes)
