"""The scripted part of a suite: a suite of `engine.script`, what it is played against, who judges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, TypeVar

from parley.engine import strictyaml
from parley.engine.script.faults import Problem, SuiteInvalid
from parley.engine.script.reading import read_suite
from parley.engine.script.revision import effective_evidence
from parley.engine.script.selection import named_filters
from parley.engine.script.shapes import Named, Suite
from parley.server.attempts.targets import (
    AutoTool,
    GatewayTarget,
    ProcessTarget,
    SuiteTarget,
    read_target,
)
from parley.server.llm.integrated import is_integrated
from parley.server.llm.profiles import ProfileName
from parley.server.outbound.errors import OutboundFault
from parley.server.outbound.guard import OutboundPolicy
from parley.server.suites.schemas import MOST_REPETITIONS, ScriptBody

Judging: TypeAlias = Literal["service", "app"]
T = TypeVar("T")

_MOST_VALUES: Final = 100_000
"""Keys and values of a suite's text; as many as take some seconds to read."""
_OF_GATEWAYS: Final = "has no meaning for a gateway; the app's own code would answer it"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredScript:
    """As it was checked and is kept."""

    suite: Suite
    target: SuiteTarget
    judge: Judging
    profile: ProfileName

    @property
    def has_criteria(self) -> bool:
        """Whether a judge is needed."""
        return any(step.expect.criteria for case in self.suite.cases for step in case.steps)

    def written(self) -> dict[str, Any]:
        """As a JSON value."""
        return {
            "suite": self.suite.wire(),
            "target": self.target.wire(),
            "judge": self.judge,
            "profile": self.profile,
        }


def stored(value: Mapping[str, Any]) -> StoredScript:
    """What `written` wrote."""
    return StoredScript(
        suite=Suite.of_wire(value["suite"]),
        target=read_target(value["target"]),
        judge=value["judge"],
        profile=value["profile"],
    )


def read_script(body: ScriptBody, policy: OutboundPolicy) -> StoredScript:
    """The script of a body. Raises `SuiteInvalid` with every fault, paths from `script` on."""
    suite, faults = _read("suite", lambda: read_suite(_data(body.suite)))
    target, more = _read("target", lambda: read_target(body.target))
    if suite is None or target is None:
        raise SuiteInvalid([*faults, *more])
    script = StoredScript(suite=suite, target=target, judge=body.judge, profile=body.profile)
    unfit = [*_unfit(script), *_refused_addresses(target, policy)]
    if unfit:
        raise SuiteInvalid(unfit)
    return script


def _read(field: str, read: Callable[[], T]) -> tuple[T | None, list[Problem]]:
    try:
        return read(), []
    except SuiteInvalid as invalid:
        return None, list(_within(field, invalid.problems))


def _data(given: dict[str, Any] | str) -> Any:
    """Plain data, or the YAML or JSON text of it."""
    if not isinstance(given, str):
        return given
    try:
        return strictyaml.read(given, most_values=_MOST_VALUES)
    except strictyaml.YamlUnreadable as fault:
        place = f" (line {fault.line}, column {fault.column})" if fault.line else ""
        raise SuiteInvalid([Problem("", f"{fault.problem}{place}")]) from None


def _within(field: str, problems: tuple[Problem, ...]) -> Iterator[Problem]:
    for problem in problems:
        path = f"script.{field}.{problem.path}" if problem.path else f"script.{field}"
        yield Problem(path, problem.message)


def _unfit(script: StoredScript) -> Iterator[Problem]:
    for index, case in enumerate(script.suite.cases):
        if case.repetitions > MOST_REPETITIONS:
            path = f"script.suite.cases[{index}].repetitions"
            yield Problem(path, f"must be at most {MOST_REPETITIONS} in an evaluation")
    if isinstance(script.target, GatewayTarget):
        yield from _unfit_for_gateway(script, script.target)


def _unfit_for_gateway(script: StoredScript, target: GatewayTarget) -> Iterator[Problem]:
    if script.judge == "app":
        yield Problem("script.judge", "must be service: a gateway has no judge of its own")
    if target.model is not None and is_integrated(target.gateway):
        yield Problem("script.target.model", "belongs to gateways of your own; this one names its llm")
    responders = {one.name for one in target.responders}
    for name in sorted(named_filters(effective_evidence(script.suite))):
        yield Problem("script.suite.evidence", f"names the filter {name!r}, which {_OF_GATEWAYS}")
    for at, case in enumerate(script.suite.cases):
        for number, step in enumerate(case.steps):
            path = f"script.suite.cases[{at}].steps[{number}]"
            if isinstance(step.resume, Named) and step.resume.using not in responders:
                yield Problem(f"{path}.resume.using", "is not among the target's responders")
            if step.expect.named_reference is not None:
                yield Problem(f"{path}.expect.reference", f"names a handler, which {_OF_GATEWAYS}")


def _refused_addresses(target: SuiteTarget, policy: OutboundPolicy) -> Iterator[Problem]:
    if not isinstance(target, GatewayTarget):
        return
    webhooks = {
        f"script.target.tools[{at}].webhook.url": tool.webhook.url
        for at, tool in enumerate(target.tools)
        if isinstance(tool, AutoTool) and tool.webhook
    }
    if target.verify is not None:
        webhooks["script.target.verify.url"] = target.verify.url
    for path, url in webhooks.items():
        try:
            policy.read(url)
        except OutboundFault as fault:
            yield Problem(path, fault.message)


def is_played_by_us(target: SuiteTarget) -> bool:
    """Whether our workers play it; what is not is sent in."""
    return not isinstance(target, ProcessTarget)
