"""The base of everything that scripted suites send or keep: frozen, strict, camelCase on the wire."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer
from pydantic.alias_generators import to_camel

T = TypeVar("T")

Many: TypeAlias = Annotated[tuple[T, ...], Field(strict=False)]
"""A list on the wire, a tuple in hand; its items stay strict."""
Millis: TypeAlias = Annotated[int, Field(ge=0, le=10**15)]
"""A moment or a duration; far beyond any that is real, and well within what databases hold."""
Json: TypeAlias = Any
"""Any JSON value of a customer's, kept as it came, `null` included."""


class Wire(BaseModel):
    """Unknown keys are refused and nothing is coerced.

    `null` is the same as leaving a field out, but for payloads.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, alias_generator=to_camel, populate_by_name=True
    )

    payloads: ClassVar[frozenset[str]] = frozenset()
    """Fields that hold a customer's own JSON, in which a given `null` is a value."""

    def wire(self) -> dict[str, Any]:
        """The plain data, JSON-ready; what was left out stays out."""
        return self.model_dump(mode="json", by_alias=True)

    @classmethod
    def of_wire(cls, data: object) -> Self:
        """Read what `wire` gives. Raises `pydantic.ValidationError`."""
        return cls.model_validate(data, by_alias=True, by_name=False)

    @model_serializer(mode="wrap")
    def _without_blanks(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        told: dict[str, Any] = handler(self)
        kept = {name for given in self.payloads & self.model_fields_set for name in (given, to_camel(given))}
        return {name: value for name, value in told.items() if value is not None or name in kept}
