"""Shows one conversation in the terminal while it is held: who says what, scores, the verdict.

Works without a terminal and on narrow ones: it only ever appends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

BARS = "▁▂▃▄▅▆▇█"
_LABEL_WIDTH = 9
_NARROWEST = 24
_STYLES = {"user": "cyan", "gateway": "yellow", "judge": "magenta", "": "dim"}
_OUTCOMES = {"success": ("✓", "bold green"), "loss": ("✗", "bold red")}
_OTHER_OUTCOME = ("•", "bold yellow")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""An llm must not be able to steer the terminal."""


def sparkline(values: Iterable[float]) -> str:
    """Values of 0..1 as a line of bars, one for each."""
    top = len(BARS) - 1
    return "".join(BARS[min(top, max(0, round(value * top)))] for value in values)


class Telling:
    """Prints the events of one run. `outcome` is None until its verdict."""

    def __init__(self, console: Console) -> None:
        self._paragraph = Paragraph(console)
        self._trajectory: list[float] = []
        self.outcome: str | None = None
        self.failure: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether the terminal event was told."""
        return self.outcome is not None or self.failure is not None

    def interrupt(self) -> None:
        """End an unfinished line: something else is going to be printed."""
        self._paragraph.end()

    def tell(self, kind: str, data: Mapping[str, Any]) -> None:
        """Print one event of the wire, `kind` being its type. Unknown ones are passed over."""
        match kind.removeprefix("chat."):
            case "start":
                self._say("", f"turn {data['turn_number']}")
            case "user_message.start_generation":
                self._paragraph.begin("user", _STYLES["user"])
            case "assistant_message.start_generation":
                self._paragraph.begin("gateway", _STYLES["gateway"])
            case "user_message.content" | "assistant_message.content":
                self._paragraph.add(_clean(data["content"]))
            case "assistant_message.refusal":
                self._paragraph.add(_clean(data["refusal"]))
            case "assistant_message.tool_call":
                self._paragraph.add(_clean(f" [calls {data['name']} {data['arguments']}] "), style="dim")
            case "user_message.end_generation" | "assistant_message.end_generation":
                self._paragraph.end()
            case "user_message.end_conversation":
                self._say("user", "leaves the conversation")
            case "judge.turn_analysis_result_ready":
                self._opinion(data["result"])
            case "validation.end":
                self._verdict(data)
            case "unhandled_error":
                self._error(data)

    def _opinion(self, result: Mapping[str, Any]) -> None:
        self._trajectory.append(float(result["conversation_delta"]))
        line = sparkline(self._trajectory)
        self._say("judge", f"{result['score']:.2f} {line} {_clean(result['reasoning'])}")

    def _verdict(self, verdict: Mapping[str, Any]) -> None:
        self.outcome = str(verdict["outcome"])
        mark, style = _OUTCOMES.get(self.outcome, _OTHER_OUTCOME)
        reason = str(verdict["reason"]).replace("_", " ")
        line = sparkline(self._trajectory)
        closing = f"{mark} {self.outcome}: {reason}, turn {verdict['turn_number']}"
        self._say("verdict", f"{closing}, trajectory {line} {verdict['conversation_delta']:.2f}", style)

    def _error(self, data: Mapping[str, Any]) -> None:
        text = _clean(f"{data['error']} ({data['code']})")
        if data["will_retry"]:
            self._say("", f"tries again: {text}")
            return
        self.failure = text
        self._say("failed", text, "bold red")

    def _say(self, label: str, text: str, style: str | None = None) -> None:
        self._paragraph.end()
        self._paragraph.begin(label, style or _STYLES.get(label, ""))
        self._paragraph.add(text, style=style or ("dim" if not label else ""))
        self._paragraph.end()


class Paragraph:
    """Words behind a label, streamed, wrapped at the width of the terminal, later lines indented."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._column = 0
        self._held = ""
        self._gap = ""
        self._is_open = False

    def begin(self, label: str, style: str) -> None:
        """Open a paragraph; one that is open is closed first."""
        self.end()
        self._is_open = True
        self._write(f"{label:>{_LABEL_WIDTH - 1}} ", style)
        self._column = _LABEL_WIDTH

    def add(self, text: str, style: str = "") -> None:
        """Show more words. The last one is held until its end is known."""
        *words, self._held = re.split(r"(?<=\s)", self._held + text)
        for word in words:
            self._word(word, style)
        if style:
            self._word(self._held, style)
            self._held = ""

    def end(self) -> None:
        """Close the paragraph, if one is open."""
        if self._is_open:
            self._word(self._held, "")
            self._held, self._gap, self._is_open = "", "", False
            self._write("\n", "")

    def _word(self, word: str, style: str) -> None:
        """Write a word; the space behind it waits for the next one, and is dropped at a line's end."""
        bare = word.rstrip()
        width = max(self._console.width, _NARROWEST)
        if bare:
            if self._column > _LABEL_WIDTH and self._column + len(self._gap) + len(bare) > width:
                self._break()
            self._write(self._gap + bare, style)
            self._column += len(self._gap) + len(bare)
            self._gap = ""
        if "\n" in word:
            self._break()
        elif word != bare and self._column > _LABEL_WIDTH:
            self._gap = " "

    def _break(self) -> None:
        self._write("\n" + " " * _LABEL_WIDTH, "")
        self._column, self._gap = _LABEL_WIDTH, ""

    def _write(self, text: str, style: str) -> None:
        self._console.print(Text(text, style=style), end="", soft_wrap=True)
        self._console.file.flush()


def _clean(text: str) -> str:
    return _CONTROL.sub("", text)
