"""Deterministic checks of one step. A miss is a value; it fails the step without asking the judge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from parley.engine.checks.jsontext import JsonUnreadable, read_json
from parley.engine.checks.patterns import read_pattern
from parley.engine.checks.schema import SchemaFault, read_schema
from parley.engine.script.observation import (
    Call,
    Interrupt,
    Observation,
    Structured,
    completed_outputs,
    tool_calls,
)
from parley.engine.script.shapes import Expect, LiteralResume, Output, TextExpect, ToolExpect
from parley.engine.script.wire import Json, Wire
from parley.engine.simulator.blank import is_blank
from parley.engine.tools import contains


class Check(Wire):
    """How one expectation came out. `check` is its path under `expect`."""

    payloads: ClassVar[frozenset[str]] = frozenset({"expected", "actual"})

    check: str
    passed: bool
    detail: str
    expected: Json = None
    actual: Json = None


def checked(
    expect: Expect, observation: Observation, latency_ms: int, *, after_cancel: bool = False
) -> tuple[Check, ...]:
    """Every deterministic expectation of a step against what it gave, in the order they stand in the docs.

    With the wrong kind of answer nothing else is looked at. `after_cancel` lets `cancelled` count as the
    answer to a cancelled pause. Raises `CheckCouldNotRun` where a bound of patterns or schemas is met.
    """
    kind = _type_check(expect, observation, after_cancel)
    return (kind, *_rest(expect, observation, latency_ms, after_cancel)) if kind.passed else (kind,)


def resume_check(resume: LiteralResume, interrupt: Interrupt) -> Check:
    """Whether the pause can be answered this way."""
    problem = misfit(resume, interrupt)
    return Check(check="resume", passed=problem is None, detail=problem or "The resume fits the pause.")


def misfit(resume: LiteralResume, interrupt: Interrupt) -> str | None:
    """Why `resume` cannot answer `interrupt`; None when it can."""
    if resume.type == "value" and interrupt.kind != "custom":
        return f"A value answers a custom pause; this one is of kind {interrupt.kind}."
    if resume.type != "select":
        return None
    if interrupt.kind not in ("choice", "multi-choice"):
        return f"There is nothing to select in a pause of kind {interrupt.kind}."
    if interrupt.kind == "choice" and len(resume.ids) != 1:
        return f"A choice takes exactly one option, not {len(resume.ids)}."
    offered = [option.id for option in interrupt.options]
    unknown = [chosen for chosen in resume.ids if chosen not in offered]
    return f"The pause offers {_listed(offered)}, not {_listed(unknown)}." if unknown else None


def _rest(expect: Expect, observation: Observation, latency_ms: int, after_cancel: bool) -> Iterator[Check]:
    if expect.type == "answer" and expect.checks_nothing and not after_cancel:
        yield _not_empty(observation)
    if observation.interrupt and (expect.schema_id or expect.schema_version):
        yield _interrupt_schema(expect, observation.interrupt)
    outputs = completed_outputs(observation)
    for index, output in enumerate(expect.outputs):
        yield _output_check(output, outputs, f"outputs[{index}]")
    calls = tool_calls(observation.events)
    for index, tool in enumerate(expect.tools):
        yield from _tool_checks(tool, calls, f"tools[{index}]")
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


def _type_check(expect: Expect, observation: Observation, after_cancel: bool) -> Check:
    is_cancel = after_cancel and expect.type == "answer" and observation.type == "cancelled"
    passed = is_cancel or observation.type == expect.type
    return Check(
        check="type",
        passed=passed,
        expected=expect.type,
        actual=observation.type,
        detail=f"The step gave {_a(observation.type)}"
        + ("." if passed else f" where {_a(expect.type)} was expected."),
    )


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}" if kind != "cancelled" else "a cancelled turn"


def _not_empty(observation: Observation) -> Check:
    passed = not is_blank(observation.text) or bool(completed_outputs(observation))
    detail = "The answer says something." if passed else "The answer is empty."
    return Check(check="type", passed=passed, detail=detail)


def _interrupt_schema(expect: Expect, interrupt: Interrupt) -> Check:
    actual = schema_words(interrupt.schema_id, interrupt.schema_version)
    expected = schema_words(expect.schema_id, expect.schema_version)
    passed = has_schema(interrupt, expect.schema_id, expect.schema_version)
    return Check(
        check="schemaId",
        passed=passed,
        expected=expected,
        actual=actual,
        detail=f"The pause carries {actual}" + ("." if passed else f"; {expected} was expected."),
    )


def has_schema(item: Interrupt | Structured, schema_id: str | None, schema_version: str | None) -> bool:
    """Whether `item` carries this schema; without a version any version will do."""
    return (schema_id is None or item.schema_id == schema_id) and (
        schema_version is None or item.schema_version == schema_version
    )


def schema_words(schema_id: str | None, schema_version: str | None) -> str:
    """A schema as people name it."""
    if schema_id is None:
        return "no schema"
    return f"the schema {schema_id}" + (f" {schema_version}" if schema_version else "")


def _output_check(output: Output, given: tuple[Structured, ...], path: str) -> Check:
    passed = any(has_schema(one, output.schema_id, output.schema_version) for one in given)
    wanted = schema_words(output.schema_id, output.schema_version)
    return Check(
        check=path,
        passed=passed,
        expected=output.wire(),
        actual=[schema_words(one.schema_id, one.schema_version) for one in given],
        detail=f"A completed output with {wanted} {'was given' if passed else 'is missing'}.",
    )


def _tool_checks(tool: ToolExpect, calls: tuple[Call, ...], path: str) -> Iterator[Check]:
    named = [call for call in calls if call.name == tool.name]
    fitting = [call for call in named if _has_arguments(call, tool)]
    low, high = _bounds(tool)
    passed = low <= len(fitting) and (high is None or len(fitting) <= high)
    with_arguments = "" if tool.arguments is None else " with these arguments"
    yield Check(
        check=path,
        passed=passed,
        expected=tool.wire(),
        actual=[{"name": call.name, "arguments": call.arguments} for call in named],
        detail=f"{tool.name} was called {_times(len(fitting))}{with_arguments}"
        + ("." if passed else f"; {_wanted(low, high)} expected."),
    )
    if passed and tool.after is not None:
        yield _order_check(tool, fitting, calls, path)


def _bounds(tool: ToolExpect) -> tuple[int, int | None]:
    if not tool.called:
        return 0, 0
    return (tool.count.min, tool.count.max) if tool.count else (1, None)


def _has_arguments(call: Call, tool: ToolExpect) -> bool:
    if tool.arguments is None:
        return True
    given = call.arguments
    if isinstance(given, str):
        try:
            given = read_json(given)
        except JsonUnreadable:
            return False
    if not contains(given, tool.arguments):
        return False
    return not tool.exact or contains(tool.arguments, given)


def _order_check(tool: ToolExpect, fitting: list[Call], calls: tuple[Call, ...], path: str) -> Check:
    first_before = next((call.at for call in calls if call.name == tool.after), None)
    passed = not fitting or (first_before is not None and first_before < fitting[0].at)
    return Check(
        check=f"{path}.after",
        passed=passed,
        expected=tool.after,
        detail=f"{tool.name} was {'' if passed else 'not '}called after {tool.after}.",
    )


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


def _wanted(low: int, high: int | None) -> str:
    if high == low:
        return f"exactly {low} calls were" if low != 1 else "exactly 1 call was"
    return f"at least {low} were" if high is None else f"{low} to {high} were"


def _text_checks(expect: TextExpect, words: str) -> Iterator[Check]:
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


def _text_check(path: str, expected: str, found: bool, wanted: bool) -> Check:
    return Check(
        check=path,
        passed=found == wanted,
        expected=expected,
        detail=f"{expected!r} {'stands' if found else 'does not stand'} in the text.",
    )


def _schema_check(schema: dict[str, Any] | bool, observation: Observation) -> Check:
    try:
        value = observation.interrupt.request if observation.interrupt else read_json(observation.text)
    except JsonUnreadable as unreadable:
        return Check(check="jsonSchema", passed=False, detail=f"The text is no JSON. {unreadable.problem}")
    faults = read_schema(schema).faults(value)
    detail = "; ".join(_fault_words(fault) for fault in faults) or "The JSON fits the schema."
    return Check(check="jsonSchema", passed=not faults, detail=detail, actual=value)


def _fault_words(fault: SchemaFault) -> str:
    return f"{fault.path}: {fault.problem}" if fault.path else fault.problem


def _latency_check(limit_ms: int, latency_ms: int) -> Check:
    return Check(
        check="maxLatencyMs",
        passed=latency_ms <= limit_ms,
        expected=limit_ms,
        actual=latency_ms,
        detail=f"The agent took {latency_ms} ms; {limit_ms} ms are allowed.",
    )


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "nothing"
