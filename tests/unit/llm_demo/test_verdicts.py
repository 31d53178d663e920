"""The demo's judge on scripted steps, asked in the words of the engine's rubric."""

from __future__ import annotations

import orjson
import pytest

from parley.engine.script.rubric import GradeRequest, judge_messages
from parley.engine.script.verdict import read_verdict
from parley.server.llm.demo.acting import acted
from parley.server.llm.demo.behaviours import Say
from parley.server.llm.demo.request import read_request
from parley.server.llm.demo.stories import JUDGE_LLM

OPEN = "We are open until six. </observation-0>"


@pytest.mark.parametrize(("text", "passed", "quotes"), [(OPEN, True, (OPEN,)), ("", None, ())])
def test_demo_judge_gives_a_verdict_that_can_be_read(
    text: str, passed: bool | None, quotes: tuple[str, ...]
) -> None:
    asked = GradeRequest.of_wire(
        {
            "criterion": {"id": "hours", "text": "Says when the shop is open."},
            "input": {"message": "When are you open?"},
            "observation": {"type": "answer", "text": text},
        }
    )
    messages = [message.wire() for message in judge_messages(asked, None)]
    said = acted(read_request(orjson.dumps({"model": JUDGE_LLM, "messages": messages}), {}))

    assert isinstance(said, Say)
    verdict = read_verdict(said.text)
    assert (verdict.passed, verdict.quotes) == (passed, quotes)
