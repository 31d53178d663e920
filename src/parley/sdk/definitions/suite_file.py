"""The file of a suite: one body of `/api/v1/suites`, as YAML or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from parley.sdk.definitions.yaml import UnreadableFile, parse


def read_suite_file(path: Path) -> dict[str, Any]:
    """The suite of a file; what it holds is for the service to judge. Raises `UnreadableFile`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableFile(f"{path} cannot be read: {error}.") from error
    content = parse(text, str(path))
    if not isinstance(content, dict) or not isinstance(content.get("name"), str):
        raise UnreadableFile(f"{path} has to be an object with a `name`, and a `script` or `cases`.")
    return content
