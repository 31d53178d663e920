"""How an agent says that it waits for an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import uuid4

from parley.engine.script.observation import Interrupt, Option
from parley.sdk.evals.plain_data import jsonable


@dataclass(slots=True, kw_only=True, eq=False)
class Pause(Exception):
    """The agent waits for an answer. Return it, or raise it out of a tool.

    `options` are ids, or ids with labels; `continuation` comes back with the answer and may be anything.
    """

    question: str | None = None
    kind: Literal["text", "choice", "multi-choice", "custom"] = "text"
    options: Sequence[str | Option] | Mapping[str, str] = ()
    schema_id: str | None = None
    schema_version: str | None = None
    request: Any = None
    continuation: Any = True
    request_id: str = field(default_factory=lambda: uuid4().hex)

    def interrupt(self) -> Interrupt:
        """The pause on the wire."""
        given = {} if self.request is None else {"request": jsonable(self.request)}
        return Interrupt(
            request_id=self.request_id,
            kind=self.kind,
            question=self.question,
            schema_id=self.schema_id,
            schema_version=self.schema_version,
            options=tuple(self._options()),
            **given,
        )

    def _options(self) -> list[Option]:
        if isinstance(self.options, Mapping):
            return [Option(id=one, label=label) for one, label in self.options.items()]
        return [Option(id=one, label=one) if isinstance(one, str) else one for one in self.options]
