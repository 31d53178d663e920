"""Ids, time, text, money, cursors."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from parley.engine.text import clean
from parley.server.kit.clock import rfc3339
from parley.server.kit.ids import new_id, parse_id
from parley.server.kit.money import usd
from parley.server.kit.paging import BadCursorError, Paging, read_cursor, write_cursor
from parley.server.kit.schemas import InstantIn
from parley.server.kit.text import is_storable


def test_ids_are_uuid7_and_sort_by_their_making() -> None:
    made = [new_id() for _ in range(1_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)
    assert {one.version for one in made} == {7}


@pytest.mark.parametrize(
    "text", ["", "x" * 36, "01a22cd11c697435" * 2, "{01a22cd1-1c69-7435-8e3a-8a2be0d79950}"]
)
def test_other_texts_are_no_ids(text: str) -> None:
    assert parse_id(text) is None


def test_time_is_told_in_utc_with_z() -> None:
    east = datetime(2027, 1, 31, 14, 0, 0, 5_999, tzinfo=timezone(timedelta(hours=2)))
    assert rfc3339(east) == "2027-01-31T12:00:00.005Z"
    assert rfc3339(datetime(2027, 1, 31, tzinfo=UTC)) == "2027-01-31T00:00:00.000Z"


@given(st.text())
def test_cleaned_text_can_be_stored_and_stored_text_is_left_alone(text: str) -> None:
    """C096, C169."""
    cleaned = clean(text)
    assert is_storable(cleaned)
    assert "\x00" not in cleaned
    cleaned.encode()
    if is_storable(text):
        assert cleaned == text


@pytest.mark.parametrize(
    ("amount", "rounded"),
    [
        ("0.0000000005", "0.000000000"),
        ("0.0000000015", "0.000000002"),
        ("0.0000000025", "0.000000002"),
        ("-0.0000000015", "-0.000000002"),
        ("12", "12.000000000"),
    ],
)
def test_money_is_rounded_half_even_to_nine_places(amount: str, rounded: str) -> None:
    assert f"{usd(Decimal(amount)):f}" == rounded


@given(st.uuids())
def test_cursor_comes_back(row_id: UUID) -> None:
    assert read_cursor(write_cursor(row_id)) == row_id


@pytest.mark.parametrize("cursor", ["", "!", "abc", "é" * 22, "A" * 23, "A" * 100])
def test_other_texts_are_no_cursors(cursor: str) -> None:
    with pytest.raises(BadCursorError):
        read_cursor(cursor)


@pytest.mark.parametrize(("limit", "clamped"), [(None, 50), (0, 1), (-9, 1), (100, 100), (101, 100)])
def test_limit_is_clamped(limit: int | None, clamped: int) -> None:
    assert Paging.asked(limit, None, None).limit == clamped


def test_cursor_wins_over_offset() -> None:
    row_id = new_id()
    assert Paging.asked(10, 30, write_cursor(row_id)) == Paging(limit=10, before=row_id)


@pytest.mark.parametrize("written", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_time_that_its_offset_moves_off_the_calendar_is_refused(written: str) -> None:
    with pytest.raises(ValidationError, match="too early or too late"):
        TypeAdapter[datetime](InstantIn).validate_python(written)
