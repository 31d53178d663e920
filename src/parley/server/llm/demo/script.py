"""Scripts: rules that say which llm answers what, and the counters that make "first fails, then works"."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from pydantic import TypeAdapter

from parley.server.llm.demo.behaviours import Behaviour, Say, TaggedBehaviour
from parley.server.llm.demo.request import ChatRequest, Part


@dataclass(frozen=True, slots=True)
class Rule:
    """Answers for the requests it fits: the n-th such request gets the n-th, the last one repeats.

    Every condition that is set must hold. `llm` is a shell pattern for the name; `turn` as in
    `ChatRequest.turn`; `contains` is sought in all words of the request; `after_tool` asks whether the
    last message is a tool's result. After `times` answers the rule stands aside.
    """

    answers: tuple[TaggedBehaviour, ...]
    llm: str | None = field(default=None, kw_only=True)
    part: Part | None = field(default=None, kw_only=True)
    turn: int | None = field(default=None, kw_only=True)
    contains: str | None = field(default=None, kw_only=True)
    after_tool: bool | None = field(default=None, kw_only=True)
    times: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not self.answers:
            raise ValueError("a rule needs at least one answer")

    def fits(self, request: ChatRequest) -> bool:
        """Whether every condition holds."""
        return (
            (self.llm is None or fnmatchcase(request.llm, self.llm))
            and (self.part is None or self.part == request.part)
            and (self.turn is None or self.turn == request.turn)
            and (self.contains is None or self.contains in request.text)
            and (self.after_tool is None or self.after_tool == request.answers_tool)
        )


@dataclass(frozen=True, slots=True)
class Script:
    """Rules, tried in order; a request that fits none gets the default of its part."""

    rules: tuple[Rule, ...] = ()


SCRIPT: TypeAdapter[Script] = TypeAdapter(Script)
"""Reads and writes a script as JSON; bytes travel as base64."""


def script_json(*rules: Rule) -> bytes:
    """The body of `POST /control/script`."""
    return SCRIPT.dump_json(Script(rules))


def opinion(score: float, reasoning: str = "The answer was weighed against the goal.") -> Say:
    """What a judge says when its opinion is valid."""
    text = OPINION.dump_json({"reasoning": reasoning, "score": score}).decode()
    return Say(text, chunks=8)


OPINION: TypeAdapter[dict[str, str | float]] = TypeAdapter(dict[str, str | float])


class Prompter:
    """A script in use: it counts the answers of each rule."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._given = [0] * len(script.rules)

    def choose(self, request: ChatRequest) -> Behaviour | None:
        """The next answer of the first rule that fits and has not stood aside; counts it."""
        for place, rule in enumerate(self.script.rules):
            given = self._given[place]
            if (rule.times is None or given < rule.times) and rule.fits(request):
                self._given[place] += 1
                return rule.answers[min(given, len(rule.answers) - 1)]
        return None
