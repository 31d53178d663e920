"""What is wrong with a body: every fault at once, each with the path of its field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from parley.server.errors import InvalidRequest
from parley.server.kit.faults import unknown_field
from parley.server.kit.text import is_storable
from parley.server.kit.wording import problem_of

MOST_FAULTS = 1_000
"""Faults named one by one; a body with more is no honest mistake, and naming them costs time."""
_LONGEST_STEP = 100
"""Characters of a name that are repeated in a path."""
SHAPE_TAG = "shape:"
"""Prefix of the tags that choose between shapes of one value; they are no part of a field's path."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Fault:
    """One fault: `field` is a path such as `hooks.0.url`, empty for the body itself."""

    field: str
    problem: str


class DefinitionRefused(Exception):
    """The body does not describe a test. `faults` names everything that is wrong, once each."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(dict.fromkeys(faults))
        super().__init__("; ".join(f"{fault.field or 'body'} {fault.problem}" for fault in self.faults))

    def as_answer(self) -> InvalidRequest:
        """The 400 that names them all."""
        return InvalidRequest.faults((fault.field, fault.problem) for fault in self.faults)


class TooManyFaults(DefinitionRefused):
    """There is more wrong with the body than anybody would read."""

    def __init__(self) -> None:
        super().__init__([Fault(field="", problem=f"has more than {MOST_FAULTS:,} faults")])


def path_of(steps: Iterable[str | int]) -> str:
    """The path of a field: names and list places joined by dots, very long names cut."""
    return ".".join(str(step)[:_LONGEST_STEP] for step in steps)


def top_of(field: str) -> str:
    """The outermost name of a path."""
    return field.partition(".")[0]


def faults_of(error: ValidationError, known: Mapping[str, Sequence[str]]) -> list[Fault]:
    """The faults behind a schema's refusal, in the words of this house. Raises `TooManyFaults`.

    `known` holds the names a body may have under "", and those within a field under its name.
    Text that cannot be stored is left to the check of its own, which names it better.
    """
    if error.error_count() > MOST_FAULTS:
        raise TooManyFaults
    details = error.errors(include_url=False)
    faults = [_fault(detail, known) for detail in details if detail["type"] != "string_unicode"]
    return [fault for fault in faults if is_storable(fault.field)]


def _fault(detail: ErrorDetails, known: Mapping[str, Sequence[str]]) -> Fault:
    steps = [step for step in detail["loc"] if not str(step).startswith(SHAPE_TAG) and step != "[key]"]
    if detail["type"] == "extra_forbidden":
        siblings = known.get("" if len(steps) == 1 else str(steps[0]), ())
        return Fault(field=path_of(steps), problem=unknown_field(str(steps[-1]), siblings))
    return Fault(field=path_of(steps), problem=problem_of(detail))
