"""A body's JSON text as values, each number exactly as it was written.

The definition's own reader, beside `kit.strictjson`: thresholds need the decimal of the text, and a
body with several faults is answered with all of them.
"""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from typing import Any, NoReturn

from starlette.requests import Request

from parley.server.definitions.faults import MOST_FAULTS, DefinitionRefused, Fault, path_of
from parley.server.definitions.text import DEEPEST
from parley.server.errors import InvalidRequest
from parley.server.kit.strictjson import EMPTY_BODY
from parley.server.kit.text import is_storable


async def sent_value(request: Request) -> object:
    """The value of a request's body, its decimals as written. Raises `InvalidRequest`."""
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise InvalidRequest.field("", "send it as application/json")
    try:
        return read_json(await request.body())
    except DefinitionRefused as refused:
        raise refused.as_answer() from None


def read_json(raw: bytes) -> object:
    """The value written in `raw`, fractions as `Decimal`. Raises `DefinitionRefused`."""
    if not raw.strip():
        raise _unreadable(EMPTY_BODY)
    twice: list[Fault] = []

    def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            times = Counter(name for name, _ in pairs)
            twice.extend(_twice(name) for name, count in times.items() if count > 1)
        return found

    try:
        value = json.loads(
            raw.decode(), parse_float=Decimal, parse_constant=_not_a_number, object_pairs_hook=once_each
        )
    except UnicodeDecodeError as error:
        raise _unreadable(f"is not UTF-8 (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise _unreadable(f"is not JSON: {error.msg}, line {error.lineno} column {error.colno}") from None
    except RecursionError:
        raise _unreadable(f"is nested deeper than {DEEPEST} levels") from None
    except ValueError:
        raise _unreadable("holds a number with too many digits") from None
    if twice:
        raise DefinitionRefused(twice[:MOST_FAULTS])
    return value


def _twice(name: str) -> Fault:
    return Fault(field=path_of([name]) if is_storable(name) else "", problem="is given twice")


def _unreadable(problem: str) -> DefinitionRefused:
    return DefinitionRefused([Fault(field="", problem=problem)])


def _not_a_number(name: str) -> NoReturn:
    raise _unreadable(f"holds {name}, which is not a JSON number")
