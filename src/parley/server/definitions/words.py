"""Texts that come as a string, as one text part, or as a list of text parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from parley.engine.blank import is_blank
from parley.server.definitions.faults import SHAPE_TAG
from parley.server.definitions.shapes import Shape

LONGEST_WORDS = 32_000
"""Characters of a goal or of criteria, all parts together (product contract)."""


class TextPart(Shape):
    """A content part with words."""

    type: Literal["text"]
    text: str


def words_of(value: str | TextPart | Sequence[TextPart] | Mapping[str, Any] | Sequence[Any]) -> str:
    """The words as one text; parts, read or as stored, become paragraphs of their own."""
    match value:
        case str():
            return value
        case TextPart():
            return value.text
        case Mapping():
            return str(value["text"])
    return "\n".join(words_of(part) for part in value)


def _shape(value: object) -> str | None:
    match value:
        case str():
            return SHAPE_TAG + "string"
        case dict() | TextPart():
            return SHAPE_TAG + "part"
        case list():
            return SHAPE_TAG + "parts"
    return None


def _readable(value: str | TextPart | list[TextPart]) -> str | TextPart | list[TextPart]:
    if is_blank(words_of(value)):
        raise PydanticCustomError("blank", "must not be blank")
    parts = value if isinstance(value, list) else [value]
    if sum(len(words_of(part)) for part in parts) > LONGEST_WORDS:
        raise PydanticCustomError("words_too_long", "must have at most 32,000 characters in all")
    return value


GivenWords: TypeAlias = Annotated[
    Annotated[
        Annotated[str, Tag(SHAPE_TAG + "string")]
        | Annotated[TextPart, Tag(SHAPE_TAG + "part")]
        | Annotated[list[TextPart], Field(min_length=1), Tag(SHAPE_TAG + "parts")],
        Discriminator(
            _shape,
            custom_error_type="words_type",
            custom_error_message="must be a string, a text part, or a list of text parts",
        ),
    ],
    AfterValidator(_readable),
]
"""Words in any of the three shapes: not blank, at most 32,000 characters in all."""
