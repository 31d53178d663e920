"""What fields must be to each other. Each rule speaks when the fields it compares are sound."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from parley.server.definitions.faults import Fault, path_of
from parley.server.definitions.start import unlinked_calls
from parley.server.llm.integrated import is_integrated

LEAST_THRESHOLD_GAP = Fraction(1, 10)
"""The base threshold stands above the loss threshold by more than this (product contract)."""
INFERENCE_EVENTS = ("before-inference", "after-inference", "context-changed")
"""Hook events around the gateway's answer: an integrated llm has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A comparison of the fields `reads`, made on their raw values."""

    reads: tuple[str, ...]
    faults: Callable[[Mapping[str, Any]], Iterator[Fault]]


def _before_the_last_turn(field: str) -> Rule:
    def faults(values: Mapping[str, Any]) -> Iterator[Fault]:
        if values[field] >= values["max_turns"]:
            yield Fault(field=field, problem=f"must be smaller than max_turns ({values['max_turns']})")

    return Rule(reads=(field, "max_turns"), faults=faults)


def _thresholds_apart(values: Mapping[str, Any]) -> Iterator[Fault]:
    base, loss = values["base_threshold"], values["loss_threshold"]
    if Fraction(base) - Fraction(loss) <= LEAST_THRESHOLD_GAP:
        yield Fault(field="base_threshold", problem=f"must be above loss_threshold ({loss}) by more than 0.1")


def _hooks_fit_the_target(values: Mapping[str, Any]) -> Iterator[Fault]:
    if not is_integrated(values["gateway"]):
        return
    for place, hook in enumerate(values["hooks"]):
        if hook["event"] in INFERENCE_EVENTS:
            yield Fault(
                field=path_of(("hooks", place, "event")),
                problem=f"must not be {hook['event']} for an integrated llm; only gateways have it",
            )


RULES: tuple[Rule, ...] = (
    _before_the_last_turn("minimum_turns"),
    _before_the_last_turn("judge_start_turn"),
    Rule(reads=("base_threshold", "loss_threshold"), faults=_thresholds_apart),
    Rule(reads=("start",), faults=lambda values: unlinked_calls(values["start"])),
    Rule(reads=("hooks", "gateway"), faults=_hooks_fit_the_target),
)


def broken_rules(values: Mapping[str, Any]) -> Iterator[Fault]:
    """The faults between the fields in `values`, which are sound one by one; absent ones are let be."""
    for rule in RULES:
        if all(field in values for field in rule.reads):
            yield from rule.faults(values)
