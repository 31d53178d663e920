"""Of a reply only the speaker's own words: no labels, nothing from the first foreign line on, no margins."""

from __future__ import annotations

import re

from parley.engine.blank import is_blank, leading_blanks
from parley.engine.simulator.speakers import LABEL_CHARS, Label, label_of

_LINE_END = re.compile("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""What `str.splitlines` takes for the end of a line."""
_MARKUP = "*_`"


class OwnWords:
    """A streaming filter. What it gives out, joined, has no white space at either end.

    Blanks and Markdown marks at the end of what has come are held back until something visible
    follows; an undecided beginning of a line is held back for some fifty characters at most.
    """

    def __init__(self) -> None:
        self.is_foreign = False
        """Whether a line of the other side was met. All from there on is dropped."""
        self._at_line_start = True
        self._undecided = ""
        self._margin: list[str] = []
        self._has_shown = False

    def feed(self, text: str) -> str:
        """What may be shown now that `text` has come."""
        text, self._undecided = self._undecided + text, ""
        shown: list[str] = []
        while text and not self.is_foreign:
            if self._at_line_start:
                blanks = leading_blanks(text)
                shown.append(self._visible(text[:blanks]))
                text = self._without_label(text[blanks:], is_last=False)
                if self._at_line_start:
                    self._undecided = text
                    break
            end = _LINE_END.search(text)
            cut = end.end() if end else len(text)
            shown.append(self._visible(text[:cut]))
            self._at_line_start = end is not None
            text = text[cut:]
        return "".join(shown)

    def close(self, *, drops_stray_markup: bool) -> str:
        """The rest, once the reply has ended.

        With `drops_stray_markup` Markdown marks that stand alone at the end go too: they were around
        something that was cut out.
        """
        shown = self._visible(self._without_label(self._undecided, is_last=True))
        margin = "".join(self._margin).rstrip()
        if not self._has_shown:
            return ""
        if drops_stray_markup and margin:
            margin = "" if margin[0].isspace() else margin.split()[0]
        return shown + margin

    def _without_label(self, text: str, *, is_last: bool) -> str:
        """`text`, which begins a line, after labels of the speaker's own; empty from a foreign one on.

        Leaves `_at_line_start` set when the line has to be longer to tell.
        """
        label = _label_at(text, is_last=is_last)
        while label.kind == "own" and not self._has_shown:
            text = text[label.end :]
            blanks = leading_blanks(text)
            self._margin = [text[:blanks]]
            text = text[blanks:]
            label = _label_at(text, is_last=is_last)
        self._at_line_start = label.kind == "open"
        if label.kind == "foreign":
            self.is_foreign = True
            return ""
        return text

    def _visible(self, text: str) -> str:
        """`text` with the margin before it, less its own margin."""
        end = _end_of_words(text)
        if not end:
            self._margin.append(text)
            return ""
        words = "".join(self._margin) + text[:end]
        self._margin = [text[end:]]
        if self._has_shown:
            return words
        self._has_shown = True
        return words.lstrip()


def _label_at(text: str, *, is_last: bool) -> Label:
    near = text[:LABEL_CHARS]
    end = _LINE_END.search(near)
    return label_of(near[: end.start()] if end else near, is_whole=is_last or end is not None)


def _end_of_words(text: str) -> int:
    """Where the last character stands that is neither blank nor a Markdown mark; 0 without one."""
    end = len(text)
    while end and (text[end - 1] in _MARKUP or is_blank(text[end - 1])):
        end -= 1
    return end
