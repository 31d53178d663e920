"""Pydantic's errors as the API tells them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, ValidationError

from parley.server.kit.faults import MOST_FAULTS, invalid_request
from parley.server.kit.schemas import MOST_UNKNOWN_FIELDS, Body, Unreadable


class Circle(Body):
    kind: Literal["circle"]
    radius: int


class Square(Body):
    kind: Literal["square"]
    side: int


class Drawing(Body):
    title: str
    shapes: list[Annotated[Circle | Square, Field(discriminator="kind")]] = Field(default=[])
    frame: Square | None = None
    either: int | Square = 0


def faults(body: Any) -> dict[str, str]:
    """Problems by field."""
    with pytest.raises(ValidationError) as caught:
        Drawing.model_validate(body)
    error = invalid_request(caught.value.errors(), body, Drawing)
    return {line["field"]: line["problem"] for line in error.details}


def test_branch_of_a_union_is_no_part_of_the_path() -> None:
    body = {"title": "x", "shapes": [{"kind": "circle", "radius": 1}, {"kind": "square", "side": "2"}]}
    assert list(faults(body)) == ["shapes.1.side"]


def test_missing_field_is_named_within_its_object() -> None:
    body = {"title": "x", "shapes": [{"kind": "circle"}], "frame": {"kind": "square"}}
    assert faults(body) == {"shapes.0.radius": "is required", "frame.side": "is required"}


@pytest.mark.parametrize(
    ("body", "field", "near"),
    [
        ({"title": "x", "titel": 1}, "titel", "'title'"),
        ({"title": "x", "frame": {"kind": "square", "side": 1, "sid": 2}}, "frame.sid", "'side'"),
        (
            {"title": "x", "shapes": [{"kind": "circle", "radius": 1, "radios": 2}]},
            "shapes.0.radios",
            "'radius'",
        ),
    ],
)
def test_unknown_field_is_told_its_nearest_neighbour(body: Any, field: str, near: str) -> None:
    told = faults(body)
    assert list(told) == [field]
    assert near in told[field]


def test_field_like_no_other_has_no_neighbour() -> None:
    assert faults({"title": "x", "zzzz": 1}) == {"zzzz": "is not a known field"}


def test_unreadable_body_is_told_with_its_own_words() -> None:
    assert faults(Unreadable("holds a NUL character", "a.b")) == {"a.b": "holds a NUL character"}


def test_message_counts_what_it_does_not_say() -> None:
    with pytest.raises(ValidationError) as caught:
        Drawing.model_validate({"titel": 1})
    error = invalid_request(caught.value.errors(), {"titel": 1}, Drawing)
    assert error.text == "The request is not valid: title: is required (and 1 more)."


def test_a_flood_of_unknown_fields_is_one_fault() -> None:
    body = {"title": "x", **{f"a{number}": 1 for number in range(MOST_UNKNOWN_FIELDS + 10)}}
    assert faults(body) == {"": "must not have 1011 fields"}


def test_faults_beyond_the_bound_are_counted() -> None:
    found = faults({"title": "x", "shapes": [1] * (MOST_FAULTS + 500)})
    assert len(found) == MOST_FAULTS + 1
    assert found[""] == "has 500 more faults"
