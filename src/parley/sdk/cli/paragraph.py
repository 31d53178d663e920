"""Words that arrive bit by bit, wrapped at the width of the terminal. It only ever appends."""

from __future__ import annotations

import re

from rich.console import Console
from rich.text import Text

from parley.sdk.harmless import harmless

LABEL_WIDTH = 10
_NARROWEST = 24


class Paragraphs:
    """Labelled paragraphs; at most one is open, and its last word is held until it is whole."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._column = 0
        self._word = ""
        self._gap = ""
        self._style = ""
        self._is_open = False

    def whole(self, label: str, text: str, style: str = "") -> None:
        """A paragraph at once."""
        self.begin(label, style)
        self.add(text, style)
        self.end()

    def begin(self, label: str, style: str = "") -> None:
        """Open a paragraph; one that is open is closed first."""
        self.end()
        self._write(label.rjust(LABEL_WIDTH - 2) + "  ", style)
        self._column, self._is_open = LABEL_WIDTH, True

    def add(self, text: str, style: str = "") -> None:
        """More words."""
        if style != self._style:
            self._release()
            self._style = style
        for piece in re.split(r"(\s)", text):
            if piece.isspace():
                self._release()
                self._space(piece)
            else:
                self._word += piece

    def end(self) -> None:
        """Close the open paragraph, if there is one."""
        if self._is_open:
            self._release()
            self._write("\n", "")
            self._is_open, self._style, self._gap = False, "", ""

    def _space(self, space: str) -> None:
        """A line break; or a gap, which waits for the next word and is dropped at a line's end."""
        if space == "\n":
            self._break()
        elif self._column > LABEL_WIDTH:
            self._gap = " "

    def _release(self) -> None:
        word, self._word = self._word, ""
        if not word:
            return
        width = max(self._console.width, _NARROWEST)
        size = Text(harmless(word)).cell_len
        if self._column > LABEL_WIDTH and self._column + len(self._gap) + size > width:
            self._break()
        self._write(self._gap + word, self._style)
        self._column += len(self._gap) + size
        self._gap = ""

    def _break(self) -> None:
        self._write("\n" + " " * LABEL_WIDTH, "")
        self._column, self._gap = LABEL_WIDTH, ""

    def _write(self, text: str, style: str) -> None:
        self._console.print(Text(harmless(text), style=style), end="", soft_wrap=True)
        self._console.file.flush()
