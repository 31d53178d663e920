"""Plain data to a suite, every problem named by its path at once."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from parley.engine.checks.faults import CheckRefused
from parley.engine.checks.patterns import read_pattern
from parley.engine.checks.schema import read_schema, written_path
from parley.engine.script.faults import Problem, SuiteInvalid
from parley.engine.script.plain import NotPlain, plain
from parley.engine.script.sequence import sequence_problems
from parley.engine.script.shapes import SHAPE_TAG, Expect, Suite

_WORDINGS: dict[str, str] = {
    "missing": "is missing",
    "string_type": "must be a text",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "dict_type": "must be an object",
    "tuple_type": "must be a list",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must have at least {min_length} item(s)",
    "too_long": "must have at most {max_length} items",
    "literal_error": "must be {expected}",
}
MOST_PROBLEMS = 1_000
"""Told one by one; nobody reads more, and a body of nonsense has millions."""
_MOST_COMPARED_CHARS = 100
"""Of a name nobody knows: longer ones take long to compare and are no slips."""


def read_suite(data: object) -> Suite:
    """The suite that `data` (what JSON or YAML held) describes. Raises `SuiteInvalid`, and nothing else."""
    try:
        suite = Suite.of_wire(plain(data))
    except NotPlain as error:
        raise SuiteInvalid([error.problem]) from None
    except ValidationError as error:
        raise SuiteInvalid(problems_of(error, Suite)) from None
    problems = [*sequence_problems(suite), *_check_problems(suite)]
    if problems:
        raise SuiteInvalid(sorted(problems))
    return suite


def problems_of(error: ValidationError, shape: type[BaseModel]) -> list[Problem]:
    """Pydantic's errors in our words, each with its path; too many are counted alone."""
    if error.error_count() > MOST_PROBLEMS:
        return [Problem("", f"does not fit in {error.error_count():,} places")]
    return [_problem(fault, shape) for fault in error.errors()]


def _problem(fault: Mapping[str, Any], shape: type[BaseModel]) -> Problem:
    path = [step for step in fault["loc"] if not _is_branch(step)]
    kind, context = str(fault["type"]), fault.get("ctx") or {}
    if kind == "extra_forbidden":
        return Problem(written_path(path), _unknown(str(path[-1]), _known_names(shape, path[:-1])))
    wording = _WORDINGS.get(kind)
    message = wording.format(**context) if wording else str(fault["msg"])
    return Problem(written_path(path), message)


def _is_branch(step: str | int) -> bool:
    """Whether a step of Pydantic's path names a branch of a union rather than something that was written."""
    return isinstance(step, str) and (step.startswith((SHAPE_TAG, "dict[")) or step == "bool")


def _unknown(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name[:_MOST_COMPARED_CHARS], known, n=1, cutoff=0.6)
    return f"is not a known field; did you mean {near[0]!r}?" if near else "is not a known field"


def _known_names(shape: type[BaseModel], path: Sequence[str | int]) -> list[str]:
    shapes: list[type[BaseModel]] = [shape]
    for step in path:
        if isinstance(step, str):
            fields = [field for one in shapes for field in one.model_fields.values() if field.alias == step]
            shapes = [inner for field in fields for inner in _shapes_in(field.annotation)]
    return [field.alias or name for one in shapes for name, field in one.model_fields.items()]


def _shapes_in(annotation: Any) -> Iterator[type[BaseModel]]:
    inner = typing.get_args(annotation)
    if not inner and isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in inner:
        yield from _shapes_in(part)


def _check_problems(suite: Suite) -> Iterator[Problem]:
    for case_index, case in enumerate(suite.cases):
        for step_index, step in enumerate(case.steps):
            path = f"cases[{case_index}].steps[{step_index}].expect"
            yield from _pattern_problems(step.expect, path)
            yield from _schema_problems(step.expect, path)


def _pattern_problems(expect: Expect, path: str) -> Iterator[Problem]:
    if expect.text is None:
        return
    lists: Iterable[tuple[str, Sequence[str]]] = (
        ("matches", expect.text.matches),
        ("notMatches", expect.text.not_matches),
    )
    for name, patterns in lists:
        for index, source in enumerate(patterns):
            try:
                read_pattern(source)
            except CheckRefused as refused:
                yield Problem(f"{path}.text.{name}[{index}]", refused.problem)


def _schema_problems(expect: Expect, path: str) -> Iterator[Problem]:
    if expect.json_schema is None:
        return
    try:
        read_schema(expect.json_schema)
    except CheckRefused as refused:
        inner = f".{refused.path}" if refused.path else ""
        yield Problem(f"{path}.jsonSchema{inner}", refused.problem)
