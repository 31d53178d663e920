"""What the garbage collector looks at in a process that serves for long."""

from __future__ import annotations

import gc
from typing import Final

YOUNG_OBJECTS: Final = 5_000
"""New objects between two looks of the collector: about a megabyte. Python's own 700 is reached several
times within one turn of a conversation, and what we make has hardly any cycles for it to find."""


def settle_heap() -> None:
    """Call it once when a process is built: what exists by then stays for good and is not looked at again.

    A full look over the modules and schemas of a process takes 50 to 100 ms, in which nothing else moves.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
