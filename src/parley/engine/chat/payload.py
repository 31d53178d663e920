"""JSON as providers write it, read strictly."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from pydantic_core import from_json


def read_json(data: bytes) -> Any:
    """The value in `data`. Raises ValueError for anything but one JSON value in UTF-8, NaN included.

    The fast reader refuses lone surrogate escapes, which a provider that cuts text between chunks
    does send; the standard library reads those.
    """
    try:
        return from_json(data, allow_inf_nan=False)
    except ValueError:
        return _read_surrogates(data)


def write_json(value: Any) -> str:
    """`value` as compact JSON. Raises ValueError where it holds a number that is not finite."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def is_cut_json(data: bytes) -> bool:
    """Whether `data` is JSON as far as it goes, but ends before its first value does."""
    try:
        from_json(data, allow_partial=True)
    except ValueError:
        return False
    try:
        json.JSONDecoder().raw_decode(data.decode(errors="replace").lstrip())
    except ValueError:
        return True
    return False


def _read_surrogates(data: bytes) -> Any:
    try:
        return json.loads(data.decode(), parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
