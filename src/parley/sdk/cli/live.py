"""A conversation in the terminal while it is held: who says what, scores, the verdict."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console

from parley.sdk.cli.paragraph import Paragraphs
from parley.sdk.events import (
    Content,
    Ended,
    Failed,
    MessageEnded,
    MessageStarted,
    Opinion,
    Refusal,
    Told,
    ToolAnswered,
    ToolCalled,
    TurnStarted,
    UserLeft,
)

_BARS = "▁▂▃▄▅▆▇█"
_NAMES = {"user": ("user", "cyan"), "assistant": ("gateway", "yellow"), "judge": ("judge", "magenta")}
_MARKS = {"success": ("✓", "bold green"), "loss": ("✗", "bold red")}
_OTHER = ("•", "bold yellow")


def bars(values: Iterable[float]) -> str:
    """Values of 0..1 as a line of bars, one for each."""
    top = len(_BARS) - 1
    return "".join(_BARS[min(top, max(0, round(value * top)))] for value in values)


class Live:
    """Shows events as they come; types that it does not know are passed over."""

    def __init__(self, console: Console) -> None:
        self._out = Paragraphs(console)
        self._course: list[float] = []

    def close(self) -> None:
        """End an unfinished line."""
        self._out.end()

    def show(self, told: Told) -> None:
        """One event."""
        match told:
            case TurnStarted(turn_number=number):
                self._out.whole("", f"turn {number}", "dim")
            case MessageStarted(role=role):
                self._out.begin(*_NAMES[role])
            case Content(text=text) | Refusal(text=text):
                self._out.add(text)
            case ToolCalled(name=name, arguments=arguments):
                self._out.add(f" calls {name} {arguments} ", "dim")
            case ToolAnswered(name=name, content=content):
                self._out.add(f" {name} gives {content} ", "dim")
            case MessageEnded():
                self._out.end()
            case UserLeft():
                self._out.whole("user", "leaves the conversation", "cyan")
            case Opinion():
                self._opinion(told)
            case Ended():
                self._verdict(told)
            case Failed():
                self._failure(told)

    def _opinion(self, opinion: Opinion) -> None:
        self._course.append(opinion.conversation_delta)
        label, style = _NAMES["judge"]
        self._out.begin(label, style)
        self._out.add(f"{opinion.score:.2f} {bars(self._course)} ", style)
        self._out.add(opinion.reasoning)
        self._out.end()

    def _verdict(self, end: Ended) -> None:
        mark, style = _MARKS.get(end.outcome, _OTHER)
        reason = end.reason.replace("_", " ")
        course = f"{bars(self._course)} {end.conversation_delta:.2f}"
        self._out.whole("verdict", f"{mark} {end.outcome}: {reason}, turn {end.turn_number}, {course}", style)

    def _failure(self, failure: Failed) -> None:
        if failure.will_retry:
            self._out.whole("", f"tries again: {failure.error} ({failure.code})", "dim")
        else:
            self._out.whole("failed", f"{failure.error} ({failure.code})", "bold red")
