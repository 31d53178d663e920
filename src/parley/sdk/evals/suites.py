"""Suites from wherever they are written: JSON or YAML text, a file, plain data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from parley.engine.script.faults import SuiteInvalid
from parley.engine.script.reading import read_suite
from parley.engine.script.shapes import Suite
from parley.sdk.definitions.yaml import parse
from parley.sdk.evals.errors import EvalsMisconfigured

SuiteSource: TypeAlias = Suite | Mapping[str, Any] | str | Path


def parse_suite(text: str, source: str = "the suite") -> Suite:
    """The suite that JSON or YAML text describes; YAML without aliases, no key given twice.

    Raises `SuiteInvalid` for a suite that is wrong, `ParleyError` for text that is neither.
    """
    # JSON is YAML, and both are read by one reader so that both have the same rules.
    return read_suite(parse(text, source))


def load_suite(source: SuiteSource) -> Suite:
    """A suite from data, or from a file by its path. Raises as `parse_suite`, naming the file."""
    if isinstance(source, Suite):
        return source
    if isinstance(source, Mapping):
        return read_suite(dict(source))
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise EvalsMisconfigured(f"The suite {path} cannot be read: {error}.") from error
    try:
        return parse_suite(text, str(path))
    except SuiteInvalid as invalid:
        told = "; ".join(map(str, invalid.problems))
        raise EvalsMisconfigured(f"The suite {path} is wrong: {told}.") from invalid
