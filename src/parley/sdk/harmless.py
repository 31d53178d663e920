"""What others wrote, made fit to be shown: it steers no terminal and speaks to no pipeline."""

from __future__ import annotations

import json
import os
import re
from typing import Any

_STEERING = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069"
"""Control characters but tab and line feed, and those that turn the direction of what follows."""
_CONTROL = re.compile(f"[{_STEERING}]")
_BREAKING = re.compile(f"[{_STEERING}\t\n\u2028\u2029]+")
_SPEAKING = re.compile(r"(?<=:)(?=:)|(?<=#)(?=#\[)")
"""Where a command to GitHub's runner begins: `::` behind nothing but spaces, `##[` anywhere."""


def harmless(text: str) -> str:
    """Text of several lines. Within GitHub Actions it holds no command either, however it will be wrapped."""
    return _unspoken(_CONTROL.sub("", text))


def one_line(text: str) -> str:
    """The same on one line: a name cannot pass for a line of ours."""
    return _unspoken(_BREAKING.sub(" ", text)).strip()


def json_text(content: Any) -> str:
    """JSON for programs, in ASCII, and without commands wherever it is printed."""
    return json.dumps(content, indent=2).replace("##[", "\\u0023#[")


def _unspoken(text: str) -> str:
    whole = text.encode("utf-8", "replace").decode()
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return whole
    return _SPEAKING.sub("\N{ZERO WIDTH SPACE}", whole)
