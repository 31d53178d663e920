"""The bases of everything a definition is made of."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer


class Shape(BaseModel):
    """Strict: nothing is coerced, nothing unknown is taken."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class AsSent(Shape):
    """A shape that is given back with the very fields it came with."""

    @model_serializer(mode="wrap")
    def _only_what_was_sent(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in handler(self).items() if name in self.model_fields_set}
