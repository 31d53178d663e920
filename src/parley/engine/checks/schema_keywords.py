"""The validators of `jsonschema`, with RE2 for its patterns, a budget of steps, and no way out of the schema.

Loaded by `schema` at the first use: the library takes a tenth of a second to import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias

import jsonschema.validators
from jsonschema.exceptions import ValidationError, best_match
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import specification_with

from parley.engine.checks.faults import CheckCouldNotRun
from parley.engine.checks.patterns import Pattern

Keyword: TypeAlias = Callable[[Any, Any, Any, Any], "Iterator[ValidationError] | None"]
_NOTHING_OUTSIDE: Any = Registry()
_CHARS_PER_STEP = 1_000
"""The library quotes value and rule in each fault it meets on its way, so large ones cost more steps."""


def errors(
    dialect: str, rules: Any, patterns: Mapping[str, Pattern], value: Any, max_steps: int
) -> Iterator[ValidationError]:
    """What is wrong with `value`. Raises `CheckCouldNotRun` while iterated, after `max_steps`."""
    known = _known(dialect)
    budget = _Budget(max_steps, value, rules)
    keywords = {**known.VALIDATORS, **_replaced(patterns)}
    counted = {name: budget.counted(keyword) for name, keyword in keywords.items()}
    extend: Any = jsonschema.validators.extend
    found: Iterator[ValidationError] = extend(known, counted)(rules, registry=_NOTHING_OUTSIDE).iter_errors(
        value
    )
    return found


def first_fault_of_form(dialect: str, rules: Any) -> ValidationError | None:
    """The most telling fault of `rules` as a schema, None if it is one."""
    fault: ValidationError | None = best_match(_form(dialect).iter_errors(rules))
    return fault


def target_of(dialect: str, rules: Any, reference: str) -> Any:
    """What `reference` leads to within `rules`, None for nothing."""
    resource = specification_with(dialect).create_resource(rules)
    try:
        return _NOTHING_OUTSIDE.resolver_with_root(resource).lookup(reference).contents
    except Unresolvable:
        return None


def _known(dialect: str) -> Any:
    return jsonschema.validators.validator_for({"$schema": dialect})


@cache
def _form(dialect: str) -> Any:
    known = _known(dialect)
    return known(known.META_SCHEMA)


class _Budget:
    """The steps that one validation of `value` against `rules` has left."""

    def __init__(self, steps: int, value: Any, rules: Any) -> None:
        self._left = steps
        self._chars: dict[int, int] = {}
        _measure(value, self._chars)
        _measure(rules, self._chars)

    def counted(self, keyword: Keyword) -> Keyword:
        """`keyword`, for its price."""

        def paid(validator: Any, rule: Any, value: Any, rules: Any) -> Iterator[ValidationError] | None:
            self._left -= 1 + (self._size(rule) + self._size(value)) // _CHARS_PER_STEP
            if self._left < 0:
                raise CheckCouldNotRun("The schema takes too many steps for this value.")
            return keyword(validator, rule, value, rules)

        return paid

    def _size(self, value: Any) -> int:
        return len(value) if isinstance(value, str) else self._chars.get(id(value), 1)


def _measure(value: Any, chars: dict[int, int]) -> int:
    """The characters of `value`; those of each object and list within it are noted by identity."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        chars[id(value)] = len(value) + sum(_measure(part, chars) for part in value)
    elif isinstance(value, dict):
        chars[id(value)] = sum(len(name) + _measure(part, chars) for name, part in value.items())
    return chars.get(id(value), 1)


def _replaced(patterns: Mapping[str, Pattern]) -> dict[str, Keyword]:
    """The keywords that would search with `re`, or compare every pair of a list."""

    def pattern(_validator: Any, source: Any, value: Any, _rules: Any) -> Iterator[ValidationError]:
        if isinstance(value, str) and not patterns[source].found_in(value):
            yield ValidationError(f"{value!r} does not match {source!r}")

    def pattern_properties(validator: Any, rules: Any, value: Any, _all: Any) -> Iterator[ValidationError]:
        if not isinstance(value, dict):
            return
        for source, part in rules.items():
            for name in [name for name in value if patterns[source].found_in(name)]:
                yield from validator.descend(value[name], part, path=name, schema_path=source)

    def additional_properties(validator: Any, part: Any, value: Any, rules: Any) -> Iterator[ValidationError]:
        if not isinstance(value, dict):
            return
        others = [patterns[source] for source in rules.get("patternProperties", {})]
        for name in value:
            if name not in rules.get("properties", {}) and not any(other.found_in(name) for other in others):
                yield from _additional(validator, part, value, name)

    return {
        "pattern": pattern,
        "patternProperties": pattern_properties,
        "additionalProperties": additional_properties,
        "uniqueItems": _unique_items,
    }


def _additional(validator: Any, part: Any, value: Any, name: str) -> Iterator[ValidationError]:
    if part is False:
        yield ValidationError(f"{name!r} is not expected here")
    else:
        yield from validator.descend(value[name], part, path=name)


def _unique_items(_validator: Any, wanted: Any, value: Any, _rules: Any) -> Iterator[ValidationError]:
    if wanted and isinstance(value, list) and len(set(map(_hashable, value))) < len(value):
        yield ValidationError("two items are equal")


def _hashable(value: Any) -> Any:
    """`value` such that equal JSON is equal: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, dict):
        return "object", frozenset((name, _hashable(part)) for name, part in value.items())
    if isinstance(value, list):
        return "list", tuple(map(_hashable, value))
    return isinstance(value, bool), value
