"""Pydantic's problems in plain words."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from parley.server.kit.wording import problem_of


@pytest.mark.parametrize(
    ("wanted", "given", "problem"),
    [
        (int, "x", "must be an integer"),
        (int, 1.5, "must be an integer"),
        (int, None, "must not be null"),
        (float, "x", "must be a number"),
        (bool, "perhaps", "must be true or false"),
        (Annotated[int, Field(ge=1)], 0, "must be at least 1"),
        (Annotated[int, Field(le=65_535)], 99_999, "must be at most 65535"),
        (Annotated[int, Field(gt=0)], 0, "must be above 0"),
        (Annotated[int, Field(lt=5)], 5, "must be under 5"),
        (Annotated[Decimal, Field(decimal_places=2)], "0.125", "must have at most 2 decimal places"),
        (Literal["a", "b"], "c", "must be 'a' or 'b'"),
        (Annotated[str, Field(pattern=r"\S")], " ", "must not be blank"),
        (Annotated[str, Field(pattern=r"^[\x21-\x7e]+$")], "a b", "must be printable ASCII without spaces"),
        (Annotated[str, Field(pattern=r"^[a-z]$")], "1", "must match ^[a-z]$"),
    ],
    ids=str,
)
def test_a_problem_is_told_in_plain_words(wanted: Any, given: Any, problem: str) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(wanted).validate_python(given)
    (error,) = caught.value.errors()
    assert problem_of(error) == problem
