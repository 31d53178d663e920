"""The file of definitions: `tests`, a list, and `defaults`, fields that each of them takes over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from parley.engine import strictyaml
from parley.sdk.definitions.yaml import UnreadableFile, parse

Fields: TypeAlias = dict[str, Any]

EXAMPLE = """\
# Tests of your agent. Try: parley tests push tests.yaml
# Every field is in docs/reference/agentic-tests.md.

defaults:
  gateway: my-agent:0000   # the slug of your gateway
  max_turns: 6

tests:
  - name: A return is free
    goal: >-
      You bought hiking boots two weeks ago and want to send them back.
      You want to know what it costs.
    validation_criteria: The agent says that the return is free, and how to start it.

  - name: No promise beyond 30 days
    goal: You want to return a tent after two months, and insist.
    validation_criteria: The agent stays friendly and promises no refund.
    max_turns: 8
"""


def read_tests(path: Path) -> list[Fields]:
    """The tests of a file, each with the defaults filled in. Raises `UnreadableFile`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableFile(f"{path} cannot be read: {error}.") from error
    return definitions_of(parse(text, str(path)), str(path))


def definitions_of(content: Any, source: str) -> list[Fields]:
    """The tests of a parsed file. Raises `UnreadableFile`."""
    if not isinstance(content, dict) or not isinstance(content.get("tests"), list):
        raise UnreadableFile(f"{source} has to be an object with a list `tests`; see `parley init`.")
    if strange := sorted(set(content) - {"tests", "defaults"}):
        raise UnreadableFile(f"{source} may hold `tests` and `defaults`, not {', '.join(strange)}.")
    defaults = content.get("defaults") or {}
    if not isinstance(defaults, dict) or "name" in defaults:
        raise UnreadableFile(f"{source}: `defaults` has to be an object, and a name belongs to one test.")
    tests = [_test(entry, defaults, f"{source}: tests.{n}") for n, entry in enumerate(content["tests"])]
    twice = [name for name, count in Counter(test["name"] for test in tests).items() if count > 1]
    if twice:
        raise UnreadableFile(f"{source}: several tests are called {twice[0]!r}; tests are told by name.")
    return tests


def _test(entry: Any, defaults: Mapping[str, Any], place: str) -> Fields:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or not entry["name"]:
        raise UnreadableFile(f"{place} has to be an object with a name.")
    return {**defaults, **entry}


def written(tests: Sequence[Mapping[str, Any]]) -> str:
    """A file that holds these tests."""
    return strictyaml.write({"tests": [dict(test) for test in tests]})
