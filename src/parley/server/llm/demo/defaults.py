"""What an llm says that nobody scripted: by its part, and different in every turn."""

from __future__ import annotations

from functools import lru_cache

import orjson

from parley.server.llm.demo.behaviours import Behaviour, CallTool, Say
from parley.server.llm.demo.request import ChatRequest, Part
from parley.server.llm.demo.schema_values import fitting_value

_USER = (
    "could you please explain a little more about the second option since it sounds close to what we need "
    "this week and i would also like to know about delivery costs opening hours and colours"
)
_ASSISTANT = (
    "of course the second option comes with free delivery within three days and you can bring it back to "
    "any of our shops for a full month should it turn out not to be what you hoped for"
)
_STRIDE = 7
"""Words by which the text moves on each turn, so that no two neighbouring turns sound the same."""


def default_behaviour(request: ChatRequest, chunks: int, judge_score: float) -> Behaviour:
    """The answer of the request's part in `chunks` chunks; schemas and forced tools are honoured."""
    if (tool := request.forced_tool) is not None:
        arguments = fitting_value(tool.get("parameters") or {}, {})
        return CallTool(str(tool.get("name")), orjson.dumps(arguments).decode())
    schema = request.response_schema
    if schema is not None or request.part == "judge":
        return Say(_fitting_text(schema or {}, judge_score, request.turn), chunks=chunks)
    pieces = spoken_words(request.part, request.turn, chunks)
    return Say("".join(pieces), chunks=pieces)


def _fitting_text(schema: dict[str, object], judge_score: float, turn: int) -> str:
    opinion = {
        "reasoning": f"By turn {turn} the answers are polite and to the point, the goal is still open.",
        "score": judge_score,
    }
    known = opinion | {"rating": judge_score * 10}
    return orjson.dumps(fitting_value(schema, known) if schema.get("properties") else opinion).decode()


@lru_cache(maxsize=1024)
def spoken_words(part: Part, turn: int, chunks: int) -> tuple[str, ...]:
    """`chunks` words for one turn, the sentence closed as its part would."""
    words = (_USER if part == "user" else _ASSISTANT).split()
    start = turn * _STRIDE
    said = [words[(start + place) % len(words)] for place in range(max(1, chunks))]
    said[0] = said[0].capitalize()
    said[-1] += "?" if part == "user" else "."
    return (said[0], *(" " + word for word in said[1:]))
