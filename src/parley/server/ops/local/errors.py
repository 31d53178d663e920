"""What can go wrong on one's own machine."""

from __future__ import annotations


class LocalStackError(Exception):
    """Something a person can put right. The text is one sentence, with the way out where there is one."""
