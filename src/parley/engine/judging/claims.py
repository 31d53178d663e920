"""The JSON objects in a judge's reply that speak to what was asked, whatever stands around them."""

from __future__ import annotations

import json
import re
from collections.abc import Set
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

_MARK = re.compile(
    r'(?P<object>\{\s*["}])|<(?P<closing>/?)(?P<tag>think|thinking|thought|reasoning)\s*>', re.IGNORECASE
)


class ClaimUnreadable(Exception):
    """An object in a reply cannot be read. `problem` is a sentence that holds nothing of the reply."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


def claims(text: str, keys: Set[str]) -> list[dict[str, Any]]:
    """The objects in `text` that hold any of `keys`, in one pass. Raises `ClaimUnreadable`.

    Objects may stand alone, fenced, or amid prose; thinking in tags is skipped. Numbers come as Decimal.
    A line break inside a JSON string is let pass.
    """
    found: list[dict[str, Any]] = []
    at = 0
    while mark := _MARK.search(text, at):
        if mark["object"]:
            value, at = _object(text, mark.start())
            if not keys.isdisjoint(value):
                found.append(value)
        elif mark["closing"]:
            # Some templates open the thinking in the prompt, so that a reply only closes it.
            found.clear()
            at = mark.end()
        else:
            at = _end_of_thinking(text, mark)
    return found


def _end_of_thinking(text: str, opening: re.Match[str]) -> int:
    closing = re.compile(rf"</{opening['tag']}\s*>", re.IGNORECASE).search(text, opening.end())
    return closing.end() if closing else len(text)


def _object(text: str, start: int) -> tuple[dict[str, Any], int]:
    try:
        value, end = _DECODER.raw_decode(text, start)
    except RecursionError:
        raise ClaimUnreadable("The reply's JSON was nested too deeply.") from None
    except (ValueError, InvalidOperation):
        raise ClaimUnreadable("The reply's JSON could not be read.") from None
    return value, end


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ClaimUnreadable("The reply's JSON gave one key twice.")
    return value


def _refuse_constant(_name: str) -> NoReturn:
    raise ClaimUnreadable("The reply's JSON held a number that is not finite.")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_float=Decimal,
    parse_int=Decimal,
    parse_constant=_refuse_constant,
    strict=False,
)
