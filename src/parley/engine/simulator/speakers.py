"""Speaker labels at the beginning of a line, such as `User:` or `**Assistant:**`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

OWN_LABELS = frozenset(
    {
        *("user", "simulated user", "customer", "client", "human", "caller", "me"),
        *("usuario", "usuária", "usuário", "cliente", "utilisateur", "utente", "benutzer", "kunde", "kundin"),
        *("пользователь", "клиент", "用户", "客户", "ユーザー", "사용자"),
    }
)
"""Labels an llm writes before its own line when it plays a user."""

FOREIGN_LABELS = frozenset(
    {
        *("assistant", "ai assistant", "virtual assistant", "support assistant", "ai", "ai agent"),
        *("agent", "support agent", "service agent", "customer service agent", "customer support agent"),
        *("customer service", "customer support", "representative", "support representative"),
        *("customer service representative", "customer support representative", "bot", "chatbot", "chat bot"),
        *("asistente", "assistente", "assistent", "agente", "kundenservice", "kundendienst"),
        *(
            "servicio al cliente",
            "service client",
            "ассистент",
            "оператор",
            "助手",
            "客服",
            "アシスタント",
            "상담원",
        ),
    }
)
"""Labels of the other side. Words that people put before a colon themselves (system, support, model)
are left out."""

_ALL_LABELS = OWN_LABELS | FOREIGN_LABELS
_LONGEST = max(map(len, _ALL_LABELS))
_BEFORE = "*_`#>[( \t"
_AFTER = "*_`])"
_MAX_BEFORE = 10
_NAME_CHARS = _LONGEST + 10
"""Where the colon has to come: the longest name, and marks and spaces behind it."""
LABEL_CHARS = _MAX_BEFORE + _NAME_CHARS
"""So many characters of a line tell for certain."""
_COLON = re.compile("[:\uff1a]")

LabelKind: TypeAlias = Literal["own", "foreign", "none", "open"]


@dataclass(frozen=True, slots=True)
class Label:
    """What stands at the beginning of a line; a label ends at `end`. Of an `open` one more must come."""

    kind: LabelKind
    end: int = 0


_NONE, _OPEN = Label("none"), Label("open")


def label_of(line: str, *, is_whole: bool) -> Label:
    """The label `line` begins with. Without `is_whole` more of the line may follow.

    A label is a known name and a colon, with or without Markdown or brackets around them; or such a
    decorated name alone on its line. `agent://` is an address. At most some fifty characters are
    looked at, so a line is never held back for longer.
    """
    before = len(line) - len(line.lstrip(_BEFORE))
    if before > _MAX_BEFORE:
        return _NONE
    name, colon, rest = _parted(line[before:])
    if not colon:
        return _without_colon(line, name, is_decorated=before > 0, is_whole=is_whole)
    if name not in _ALL_LABELS or rest.startswith("/"):
        return _NONE
    if not rest and not is_whole and len(line) < LABEL_CHARS:
        return _OPEN
    return Label(_kind(name), len(line) - len(rest))


def _parted(text: str) -> tuple[str, bool, str]:
    """The name before the first near colon, whether there is one, and what follows its decoration."""
    colon = _COLON.search(text, 0, _NAME_CHARS)
    if colon is None:
        return _name(text[:_NAME_CHARS]), False, ""
    return _name(text[: colon.start()]), True, text[colon.end() :].lstrip(_AFTER)


def _without_colon(line: str, name: str, *, is_decorated: bool, is_whole: bool) -> Label:
    if is_whole:
        return Label(_kind(name), len(line)) if is_decorated and name in _ALL_LABELS else _NONE
    return (
        _OPEN if len(line) < LABEL_CHARS and any(label.startswith(name) for label in _ALL_LABELS) else _NONE
    )


def _name(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(_AFTER + " ")


def _kind(name: str) -> LabelKind:
    return "own" if name in OWN_LABELS else "foreign"
