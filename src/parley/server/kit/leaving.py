"""A process that was asked to leave leaves, whatever still hangs in it."""

from __future__ import annotations

import logging
import os
import threading
from typing import Final

CLOSING_S: Final = 4.0
"""What the services of a process have to close in, after its grace time."""
SPARE_S: Final = 8.0
"""After its grace time a process is gone within this: half of it is for closing, half for busy machines."""
STUCK: Final = 70
"""The exit code of a process that had to be ended hard (`EX_SOFTWARE`)."""

_log = logging.getLogger(__name__)


def leave_within(seconds: float) -> None:
    """End this process hard when `seconds` are over and it is still there.

    A thread of a library that waits for a name server, or a call that blocks the loop, would hold it for as
    long as they like.
    """
    timer = threading.Timer(seconds, _end)
    timer.daemon = True
    timer.start()


def _end() -> None:
    threads = ", ".join(thread.name for thread in threading.enumerate())
    _log.critical("the process hangs after it was asked to stop, and is ended; its threads: %s", threads)
    logging.shutdown()
    os._exit(STUCK)
