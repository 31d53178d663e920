"""A conversation told to the one who holds its stream: what is shown gathers until the next batch leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from parley.engine.attempt import merged
from parley.engine.events import Delta, Entry, Shown, Speaking
from parley.server.conversation.narrate import Narrator, WireEvent
from parley.server.conversation.sse import Outgoing, Patience


class Telling:
    """Narrates into `outgoing`: entries at once, deltas when a batch leaves, neighbouring words as one."""

    def __init__(self, narrator: Narrator, patience: Patience) -> None:
        """`patience` is how the one who holds the stream is waited for."""
        self._narrator = narrator
        self._shown: list[Delta] = []
        self._shown_at_ms = 0
        self.outgoing = Outgoing(patience, self._gathered)

    def show(self, delta: Delta, at_ms: int) -> None:
        """Tell a delta."""
        self._shown.append(delta)
        self._shown_at_ms = at_ms
        self.outgoing.stir()

    def keep(self, entry: Entry) -> None:
        """Tell what is left of an entry."""
        self.outgoing.put(self._gathered())
        self.outgoing.put(self._narrator.entry(entry))

    def _gathered(self) -> list[WireEvent]:
        shown, self._shown = self._shown, []
        return [event for delta in _joined(shown) for event in self._narrator.delta(delta, self._shown_at_ms)]


def _joined(deltas: Sequence[Delta]) -> Iterator[Delta]:
    """`deltas` with neighbouring words of one kind as one."""
    for role, group in groupby(deltas, _speaker):
        if role is None:
            yield from group
        else:
            parts = [delta.part for delta in group if isinstance(delta, Shown)]
            yield from (Shown(role=role, part=part) for part in merged(parts))


def _speaker(delta: Delta) -> Speaking | None:
    """Who is shown speaking; None where an attempt opens."""
    return delta.role if isinstance(delta, Shown) else None
