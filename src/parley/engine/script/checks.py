"""Deterministic checks of one step. A miss is a value; it fails the step without asking the judge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from parley.engine.blank import is_blank
from parley.engine.checks.jsontext import JsonUnreadable, read_json
from parley.engine.checks.patterns import read_pattern
from parley.engine.checks.schema import SchemaFault, read_schema
from parley.engine.script.check import CheckRecord
from parley.engine.script.fit import has_schema, schema_words
from parley.engine.script.observation import Interrupt, Observation, Structured, completed_outputs, tool_calls
from parley.engine.script.shapes import Expect, Output, TextExpect
from parley.engine.script.tool_checks import tool_checks


def checked(
    expect: Expect, observation: Observation, latency_ms: int, *, after_cancel: bool = False
) -> tuple[CheckRecord, ...]:
    """Every deterministic expectation of a step against what it gave, in the order they stand in the docs.

    With the wrong kind of answer nothing else is looked at. `after_cancel` lets `cancelled` count as the
    answer to a cancelled pause. Raises `CheckCouldNotRun` where a bound of patterns or schemas is met.
    """
    kind = _type_check(expect, observation, after_cancel)
    return (kind, *_rest(expect, observation, latency_ms, after_cancel)) if kind.passed else (kind,)


def _rest(
    expect: Expect, observation: Observation, latency_ms: int, after_cancel: bool
) -> Iterator[CheckRecord]:
    if expect.type == "answer" and expect.checks_nothing and not after_cancel:
        yield _not_empty(observation)
    if observation.interrupt and (expect.schema_id or expect.schema_version):
        yield _interrupt_schema(expect, observation.interrupt)
    outputs = completed_outputs(observation)
    for index, output in enumerate(expect.outputs):
        yield _output_check(output, outputs, f"outputs[{index}]")
    calls = tool_calls(observation.events)
    for index, tool in enumerate(expect.tools):
        yield from tool_checks(tool, calls, f"tools[{index}]")
    if expect.text:
        yield from _text_checks(expect.text, words_of(observation))
    if expect.json_schema is not None:
        yield _schema_check(expect.json_schema, observation)
    if expect.max_latency_ms is not None:
        yield _latency_check(expect.max_latency_ms, latency_ms)


def words_of(observation: Observation) -> str:
    """The words a user sees: the text, and the question of a pause."""
    question = observation.interrupt.question if observation.interrupt else None
    return "\n".join(text for text in (observation.text, question) if text)


def _type_check(expect: Expect, observation: Observation, after_cancel: bool) -> CheckRecord:
    is_cancel = after_cancel and expect.type == "answer" and observation.type == "cancelled"
    passed = is_cancel or observation.type == expect.type
    return CheckRecord(
        check="type",
        passed=passed,
        expected=expect.type,
        actual=observation.type,
        detail=f"The step gave {_a(observation.type)}"
        + ("." if passed else f" where {_a(expect.type)} was expected."),
    )


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}" if kind != "cancelled" else "a cancelled turn"


def _not_empty(observation: Observation) -> CheckRecord:
    passed = not is_blank(observation.text) or bool(completed_outputs(observation))
    detail = "The answer says something." if passed else "The answer is empty."
    return CheckRecord(check="type", passed=passed, detail=detail)


def _interrupt_schema(expect: Expect, interrupt: Interrupt) -> CheckRecord:
    actual = schema_words(interrupt.schema_id, interrupt.schema_version)
    expected = schema_words(expect.schema_id, expect.schema_version)
    passed = has_schema(interrupt, expect.schema_id, expect.schema_version)
    return CheckRecord(
        check="schemaId",
        passed=passed,
        expected=expected,
        actual=actual,
        detail=f"The pause carries {actual}" + ("." if passed else f"; {expected} was expected."),
    )


def _output_check(output: Output, given: tuple[Structured, ...], path: str) -> CheckRecord:
    passed = any(has_schema(one, output.schema_id, output.schema_version) for one in given)
    wanted = schema_words(output.schema_id, output.schema_version)
    return CheckRecord(
        check=path,
        passed=passed,
        expected=output.wire(),
        actual=[schema_words(one.schema_id, one.schema_version) for one in given],
        detail=f"A completed output with {wanted} {'was given' if passed else 'is missing'}.",
    )


def _text_checks(expect: TextExpect, words: str) -> Iterator[CheckRecord]:
    shown = words.casefold() if expect.ignore_case else words
    for name, phrases, wanted in (
        ("contains", expect.contains, True),
        ("notContains", expect.not_contains, False),
    ):
        for index, phrase in enumerate(phrases):
            found = (phrase.casefold() if expect.ignore_case else phrase) in shown
            yield _text_check(f"text.{name}[{index}]", phrase, found, wanted)
    for name, patterns, wanted in (
        ("matches", expect.matches, True),
        ("notMatches", expect.not_matches, False),
    ):
        for index, source in enumerate(patterns):
            found = read_pattern(source, ignore_case=expect.ignore_case).found_in(words)
            yield _text_check(f"text.{name}[{index}]", source, found, wanted)


def _text_check(path: str, expected: str, found: bool, wanted: bool) -> CheckRecord:
    return CheckRecord(
        check=path,
        passed=found == wanted,
        expected=expected,
        detail=f"{expected!r} {'stands' if found else 'does not stand'} in the text.",
    )


def _schema_check(schema: dict[str, Any] | bool, observation: Observation) -> CheckRecord:
    try:
        value = observation.interrupt.request if observation.interrupt else read_json(observation.text)
    except JsonUnreadable as unreadable:
        return CheckRecord(
            check="jsonSchema", passed=False, detail=f"The text is no JSON. {unreadable.problem}"
        )
    faults = read_schema(schema).faults(value)
    detail = "; ".join(_fault_words(fault) for fault in faults) or "The JSON fits the schema."
    return CheckRecord(check="jsonSchema", passed=not faults, detail=detail, actual=value)


def _fault_words(fault: SchemaFault) -> str:
    return f"{fault.path}: {fault.problem}" if fault.path else fault.problem


def _latency_check(limit_ms: int, latency_ms: int) -> CheckRecord:
    return CheckRecord(
        check="maxLatencyMs",
        passed=latency_ms <= limit_ms,
        expected=limit_ms,
        actual=latency_ms,
        detail=f"The agent took {latency_ms} ms; {limit_ms} ms are allowed.",
    )
