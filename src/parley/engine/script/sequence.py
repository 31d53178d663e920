"""Which step may follow which, and which ids must differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from parley.engine.script.faults import Problem
from parley.engine.script.shapes import Case, Step, Suite


def sequence_problems(suite: Suite) -> Iterator[Problem]:
    """What is wrong with the order and the ids of a suite whose shapes are right."""
    yield from _repeated("cases", (case.id for case in suite.cases))
    for index, case in enumerate(suite.cases):
        yield from _case_problems(case, f"cases[{index}]")


def _case_problems(case: Case, path: str) -> Iterator[Problem]:
    before: Step | None = None
    for index, step in enumerate(case.steps):
        here = f"{path}.steps[{index}]"
        yield from _order_problems(step, before, here)
        yield from _expect_problems(step, f"{here}.expect")
        before = step
    if case.splits != tuple(dict.fromkeys(case.splits)):
        yield Problem(f"{path}.splits", "names a split twice")


def _order_problems(step: Step, before: Step | None, path: str) -> Iterator[Problem]:
    pauses = before is not None and before.expect.type == "interrupt"
    if step.resume is not None and not pauses:
        yield Problem(f"{path}.resume", "must directly follow a step that expects an interrupt")
    if step.message is not None and pauses:
        yield Problem(f"{path}.message", "must not follow a step that expects an interrupt; resume it first")


def _expect_problems(step: Step, path: str) -> Iterator[Problem]:
    expect = step.expect
    if expect.type == "answer" and (expect.schema_id or expect.schema_version):
        name = "schemaId" if expect.schema_id else "schemaVersion"
        yield Problem(f"{path}.{name}", "belongs to an interrupt; name outputs of an answer under `outputs`")
    if expect.schema_version and not expect.schema_id and expect.type == "interrupt":
        yield Problem(f"{path}.schemaVersion", "stands without a `schemaId`")
    for index, tool in enumerate(expect.tools):
        bounds = tool.count
        if bounds and bounds.max is not None and bounds.max < bounds.min:
            yield Problem(f"{path}.tools[{index}].count", "has a `max` under its `min`")
    yield from _repeated(f"{path}.criteria", (criterion.id for criterion in expect.criteria))


def _repeated(path: str, ids: Iterable[str]) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, one in enumerate(ids):
        if one in seen:
            yield Problem(f"{path}[{index}].id", f"is not unique: {one!r}")
        seen.add(one)
