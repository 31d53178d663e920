"""Files of YAML, told by their name when they cannot be read."""

from __future__ import annotations

from typing import Any

from parley.engine import strictyaml
from parley.sdk.errors import ParleyError

MOST_BYTES = 1_000_000
"""What the service takes as a body, too."""


class UnreadableFile(ParleyError):
    """A file of definitions cannot be read; the text names line and column where they are known."""


def parse(text: str, source: str) -> Any:
    """The content of a document. Raises `UnreadableFile`, which begins with `source`."""
    if len(text.encode()) > MOST_BYTES:
        raise UnreadableFile(f"{source} is larger than {MOST_BYTES} bytes.")
    try:
        return strictyaml.read(text)
    except strictyaml.YamlUnreadable as error:
        place = f" line {error.line}, column {error.column}" if error.line else ""
        raise UnreadableFile(f"{source}{place}: {error.problem}.") from error
