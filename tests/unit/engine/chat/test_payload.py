"""JSON as providers write it, read and written strictly."""

from __future__ import annotations

from typing import Any

import pytest

from parley.engine.chat.payload import is_cut_json, read_json, write_json


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b' {"a": [1, 1.5, true, null]} ', {"a": [1, 1.5, True, None]}),
        (b'"\\ud83d"', "\ud83d"),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
    ],
)
def test_json_is_read_with_lone_surrogates(data: bytes, value: Any) -> None:
    assert read_json(data) == value


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"NaN",
        b'["\\ud83d", NaN]',
        b'["\\ud83d", -Infinity]',
        b"{} {}",
        b'"\xff"',
        b"[" * 100_000,
        b"9" * 5_000,
    ],
)
def test_what_is_not_json_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any of its kinds
        read_json(data)


def test_json_is_written_compactly() -> None:
    assert write_json({"a": ["é", 1]}) == '{"a":["é",1]}'


def test_what_cannot_be_json_is_not_written() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deeply"):
        write_json(deep)
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(float("inf"))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a": [1, ', True),
        (b' {"a": "x', True),
        (b"{", True),
        (b'{"a": "x\xc3', True),
        (b'{"a": 1}', False),
        (b'{"a": 1} {"b"', False),
        (b'{"a": NaN}', False),
        (b"{oops", False),
    ],
)
def test_json_that_ends_too_early_is_told_from_other_text(data: bytes, expected: bool) -> None:
    assert is_cut_json(data) is expected
