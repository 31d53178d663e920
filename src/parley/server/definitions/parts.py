"""The smaller shapes of a definition: resources, hooks, tool mocks, the simulated user's variety."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from parley.engine.blank import is_blank
from parley.engine.spec import HookEvent
from parley.server.definitions.addresses import url_problem
from parley.server.definitions.numbers import Decay, TopK
from parley.server.definitions.shapes import AsSent, Shape
from parley.server.definitions.text import plain

LONGEST_TOOL_NAME = 200
"""Characters of a mocked tool's name: wider than any provider allows."""


def readable(text: str) -> str:
    """`text`, refused when it is blank."""
    if is_blank(text):
        raise PydanticCustomError("blank", "must not be blank")
    return text


def _address(text: str) -> str:
    if (problem := url_problem(text)) is not None:
        raise PydanticCustomError("address", "{problem}", {"problem": problem})
    return text


class Resource(Shape):
    """Background that user and judge see and the gateway never does: a text, or an address to read."""

    type: Literal["Text", "RemoteResource"]
    data: Annotated[str, AfterValidator(readable)]

    @model_validator(mode="after")
    def _remote_data_is_an_address(self) -> Resource:
        if self.type == "RemoteResource" and (problem := url_problem(self.data)) is not None:
            raise PydanticCustomError("address", "has data that {problem}", {"problem": problem})
        return self


class GivenHook(Shape):
    """An address of the customer that is called at `event`."""

    event: HookEvent
    url: Annotated[str, AfterValidator(_address)]


class GivenMock(AsSent):
    """The answer to a tool call the gateway leaves open: exactly one of `result` and `error`."""

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_TOOL_NAME), AfterValidator(readable)]
    match: Annotated[dict[str, Any], BeforeValidator(plain)] | None = None
    result: str | None = None
    error: str | None = None

    @model_validator(mode="after")
    def _one_answer(self) -> GivenMock:
        if (self.result is None) == (self.error is None):
            raise PydanticCustomError("one_answer", "must have exactly one of result and error")
        return self


class Sampling(Shape):
    """How varied the simulated user writes."""

    top_k: TopK = Decimal("0.4")
    max_decay: Decay = Decimal("0.02")
