"""Customers' JSON Schemas: checked when written, bounded when run, closed to the outside."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from parley.engine.checks.faults import CheckCouldNotRun, PatternRefused, SchemaRefused
from parley.engine.checks.patterns import Pattern, read_pattern

if TYPE_CHECKING:  # the library takes a tenth of a second to import, so only those with a schema load it
    from jsonschema.exceptions import ValidationError

MAX_DEPTH = 32
"""Objects and lists within each other in a schema."""
MAX_NODES = 2_000
"""Values of any kind in a schema; the largest real ones of tool calls have some hundreds."""
MAX_CHARS = 100_000
"""Characters of all keys and strings of a schema together."""
MAX_STEPS = 50_000
"""Keywords looked at in one validation, large values counting more: about a second at the most."""
MAX_FAULTS = 20
"""Faults that one validation names; the first ones, in the order of the schema."""
_MAX_WORDS = 300
"""Characters of one fault; the library quotes the value, which may be large."""
_DEFAULT_DIALECT = "https://json-schema.org/draft/2020-12/schema"
DIALECTS = (
    _DEFAULT_DIALECT,
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
)
_DATA = frozenset({"const", "default", "dependentRequired", "enum", "examples"})
"""Keywords whose value is data, in which `$ref` is a word like any other."""
_NAMED = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)
"""Keywords whose value is an object of schemas by names of the customer's choice."""
_LEFT_OUT = frozenset({"$dynamicRef", "$recursiveRef", "unevaluatedItems", "unevaluatedProperties"})
"""The library follows these by ways that neither our patterns nor our budget reach."""


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """Where a value departs from a schema. `path` as in `items[0].name`, "" for the value itself."""

    path: str
    problem: str


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema that was found sound. `source` is what was written."""

    source: Any
    _closed: _Closed = field(repr=False, compare=False)

    def faults(self, value: Any) -> tuple[SchemaFault, ...]:
        """What is wrong with `value` (plain JSON data), at most MAX_FAULTS; empty if it fits.

        Raises `CheckCouldNotRun` if it cannot be told within MAX_STEPS. `format` is only a note, as the
        standard has it.
        """
        from parley.engine.checks import schema_keywords

        closed = self._closed
        try:
            errors = schema_keywords.errors(closed.dialect, closed.rules, closed.patterns, value, MAX_STEPS)
            return tuple(_fault(error) for error in islice(errors, MAX_FAULTS))
        except RecursionError:
            raise CheckCouldNotRun("The value or the schema's references are nested too deeply.") from None


def read_schema(source: Any) -> Schema:
    """The schema that `source` (plain JSON data) describes. Raises `SchemaRefused`, and nothing else.

    Drafts 7, 2019-09 and 2020-12 (the default); references within the schema only; patterns in RE2.
    """
    from parley.engine.checks import schema_keywords

    if not isinstance(source, dict | bool):
        raise SchemaRefused("A JSON Schema is an object, or true or false.")
    _measure(source)
    closed = _Closed(_dialect(source))
    closed.rules = closed.copy_of(source, "")
    error = schema_keywords.first_fault_of_form(closed.dialect, closed.rules)
    if error is not None:
        raise SchemaRefused(_fault(error).problem, written_path(error.absolute_path))
    for reference, path in closed.references:
        target = schema_keywords.target_of(closed.dialect, closed.rules, reference)
        if not isinstance(target, bool) and id(target) not in closed.parts:
            raise SchemaRefused("It must lead to a schema within this one.", path)
    return Schema(source, closed)


def written_path(path: Iterable[str | int]) -> str:
    """`path` as people write it: `items[0].name`."""
    written = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return written.removeprefix(".")


def _measure(source: Any) -> None:
    """Raise for what is too deep or too large, without ever recursing."""
    pending, nodes, chars = [(source, 1)], 0, 0
    while pending:
        value, depth = pending.pop()
        nodes += 1
        inner, texts = _parts(value)
        chars += sum(map(len, texts))
        if depth > MAX_DEPTH:
            raise SchemaRefused(f"The schema is nested more than {MAX_DEPTH} deep.")
        if nodes + len(pending) + len(inner) > MAX_NODES:
            raise SchemaRefused(f"The schema holds more than {MAX_NODES:,} values.")
        if chars > MAX_CHARS:
            raise SchemaRefused(f"The schema is longer than {MAX_CHARS:,} characters.")
        pending += [(part, depth + 1) for part in inner]


def _parts(value: Any) -> tuple[list[Any], list[str]]:
    """The values within `value`, and the texts of its own."""
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise SchemaRefused("Every key of a JSON Schema is a text.")
        return list(value.values()), list(value)
    if isinstance(value, list):
        return value, []
    return [], [value] if isinstance(value, str) else []


def _dialect(source: Any) -> str:
    named = source.get("$schema", _DEFAULT_DIALECT) if isinstance(source, dict) else _DEFAULT_DIALECT
    dialect = named.rstrip("#") if isinstance(named, str) else ""
    if dialect not in DIALECTS:
        raise SchemaRefused(f"Only these are known: {', '.join(DIALECTS)}.", "$schema")
    return dialect


class _Closed:
    """A schema being copied such that nothing in it leads outside, with what was met on the way.

    `$schema` is left out of the copy, since the library changes to validators of its own, with the
    patterns of `re`, wherever it meets it. A reference may lead to `parts` alone for the same reason:
    data in a `const` was never looked at.
    """

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self.rules: Any = True
        self.patterns: dict[str, Pattern] = {}
        self.references: list[tuple[str, str]] = []
        self.parts: set[int] = set()

    def copy_of(self, rules: Any, path: str) -> Any:
        """The copy of one part. Raises `SchemaRefused`."""
        if isinstance(rules, list):
            return [self.copy_of(part, f"{path}[{at}]") for at, part in enumerate(rules)]
        if not isinstance(rules, dict):
            return rules
        copy = {
            key: self._value(key, value, f"{path}.{key}" if path else key)
            for key, value in rules.items()
            if path or key not in ("$id", "$schema")
        }
        self.parts.add(id(copy))
        return copy

    def _value(self, key: str, value: Any, path: str) -> Any:
        self._look_at(key, value, path)
        if key in _DATA:
            return value
        if key in _NAMED and isinstance(value, dict):
            return {name: self.copy_of(part, f"{path}.{name}") for name, part in value.items()}
        return self.copy_of(value, path)

    def _look_at(self, key: str, value: Any, path: str) -> None:
        if key in ("$id", "$schema"):
            raise SchemaRefused("Only the schema as a whole may have this.", path)
        if key in _LEFT_OUT:
            raise SchemaRefused("This keyword is not taken here.", path)
        if key == "$ref" and not (isinstance(value, str) and value.startswith("#")):
            raise SchemaRefused("A reference must stay within the schema and begin with '#'.", path)
        if key == "$ref":
            self.references.append((value, path))
        if key == "pattern" and isinstance(value, str):
            self._pattern(value, path)
        if key == "patternProperties" and isinstance(value, dict):
            for name in value:
                self._pattern(name, path)

    def _pattern(self, source: str, path: str) -> None:
        try:
            self.patterns[source] = read_pattern(source)
        except PatternRefused as refusal:
            raise SchemaRefused(refusal.problem, path) from None


def _fault(error: ValidationError) -> SchemaFault:
    words = str(error.message)
    cut = words if len(words) <= _MAX_WORDS else f"{words[:_MAX_WORDS]}..."
    return SchemaFault(written_path(error.absolute_path), cut)
