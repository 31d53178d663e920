"""docs/reference/events.md tells what is sent: every type with its fields, every code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

from parley.engine.chat.faults import FaultCode
from parley.engine.converse import _REPLY_PROBLEMS
from parley.engine.events import SCOPES
from parley.engine.judging.opinion import OpinionCode
from parley.engine.ports import StopCode
from parley.engine.state import RESPONSE_FORMAT_REFUSED, WORKER_LOST
from parley.server.llm.demo import Refuse, Rule, opinion
from tests.stage import Frame, Stage
from tests.stories_told import EVENTFUL_FIELDS, eventful

PAGE = (Path(__file__).parents[2] / "docs/reference/events.md").read_text()


def table_of(heading: str) -> dict[str, set[str]]:
    """The rows under a heading: the first name, and the names in its second column."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| `")]
    return {re.findall(r"`([^`]+)`", row[1])[0]: set(re.findall(r"`([^`]+)`", row[2])) for row in rows}


async def everything_sent(stage: Stage) -> list[Frame]:
    stage.play(*eventful())
    frames = (await stage.evaluated(**EVENTFUL_FIELDS)).frames
    stage.play(Rule((Refuse("I must not."),), part="assistant"), Rule((opinion(0.95),), part="judge"))
    return frames + (await stage.evaluated(profile="low")).frames


async def test_page_tells_every_type_with_its_fields(stage: Stage) -> None:
    sent: dict[str, set[str]] = {}
    for frame in await everything_sent(stage):
        sent.setdefault(frame.type, set()).update(frame.data)
    assert sent == table_of("Types")


async def test_page_tells_the_fields_within(stage: Stage) -> None:
    frames = await everything_sent(stage)
    for field in ("result", "usage"):
        told = re.search(rf"`{field}` has ([^.;]+)[.;]", PAGE)
        assert told, field
        sent: Any = next(frame.data[field] for frame in frames if field in frame.data)
        assert re.findall(r"`(\w+)`", told[1]) == list(sent)


def test_page_tells_every_code() -> None:
    known = {
        *get_args(FaultCode),
        *get_args(OpinionCode),
        *get_args(StopCode),
        *_REPLY_PROBLEMS,
        *SCOPES.values(),
        *(RESPONSE_FORMAT_REFUSED, WORKER_LOST, "resource_unavailable", "internal_error"),
    }
    assert set(table_of("Codes of errors")) == known
