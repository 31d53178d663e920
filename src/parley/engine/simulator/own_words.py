"""Of a reply only the speaker's own words: no labels, nothing from the first foreign line on, no margins."""

from __future__ import annotations

import re

from parley.engine.simulator.blank import is_blank, leading_blanks
from parley.engine.simulator.speakers import label_of

_LINE_END = re.compile("[\r\n\u2028\u2029]")
_MARKUP = "*_`"
_SPACES = "".join(filter(str.isspace, map(chr, range(0x3001))))
"""All that `str.strip` strips."""
_HELD = _SPACES + _MARKUP


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
        if drops_stray_markup:
            margin = margin[: len(margin) - len(margin.lstrip(_MARKUP))]
        return shown + margin

    def _without_label(self, text: str, *, is_last: bool) -> str:
        """`text`, which begins a line, after a label of the speaker's own; empty from a foreign one on.

        Leaves `_at_line_start` set when the line has to be longer to tell.
        """
        end = _LINE_END.search(text)
        label = label_of(text[: end.start()] if end else text, is_whole=is_last or end is not None)
        if label.kind == "open":
            return text
        self._at_line_start = False
        if label.kind == "foreign":
            self.is_foreign = True
            return ""
        if label.kind == "own" and not self._has_shown:
            self._margin.clear()
            return text[label.end :]
        return text

    def _visible(self, text: str) -> str:
        """`text` with the margin before it, less its own margin."""
        body = text.rstrip(_HELD)
        if is_blank(body):
            self._margin.append(text)
            return ""
        before = "".join(self._margin)
        self._margin = [text[len(body) :]]
        if self._has_shown:
            return before + body
        self._has_shown = True
        return (before + body).lstrip()
