"""The one sign by which a simulated user leaves."""

from __future__ import annotations

EXIT_TOKEN = "<LEAVE-TALK/>"
"""Written by the simulated user when it leaves; never seen by anybody else.

ASCII, unlike anything people type, and its first character does not occur again in it, so that two
tokens cannot overlap (the filter rests on that). Upper and lower case count alike.
"""
