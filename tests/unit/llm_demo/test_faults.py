"""The catalogue of faults, and how one is asked for."""

import orjson
import pytest

from parley.server.llm.demo import FAULTS, Say
from parley.server.llm.demo.answers import Pace, Pause, answer_for
from parley.server.llm.demo.faults import asked_fault
from parley.server.llm.demo.request import ChatRequest, read_request

STREAM_CASES = (
    "C048 C051 C052 C053 C054 C055 C057 C059 C061 C062 C064 C065 "
    "C067 C070 C071 C073 C075 C076 C077 C078 C082 C083 C086 C087"
)


def request(
    llm: str, *, headers: dict[str, str] | None = None, last: str = "user", **fields: object
) -> ChatRequest:
    messages = [{"role": "user", "content": "hi"}, {"role": last, "content": "x"}]
    return read_request(orjson.dumps({"model": llm, "messages": messages, **fields}), headers or {})


def test_every_case_of_kind_stream_can_be_asked_for() -> None:
    assert set(STREAM_CASES.split()) <= set(FAULTS)


def test_every_fault_is_explained_by_one_sentence() -> None:
    for fault in FAULTS.values():
        assert fault.sentence.endswith(".")
        assert len(fault.sentence) < 100
    assert len({fault.sentence for fault in FAULTS.values()}) == len(FAULTS)


@pytest.mark.parametrize(
    "asking",
    [
        request("fault/C065"),
        request("shop", headers={"x-demo-fault": "C065"}),
        request("shop", metadata={"demo_fault": "C065"}),
    ],
    ids=["name", "header", "metadata"],
)
def test_fault_is_asked_for_by_name_header_or_metadata(asking: ChatRequest) -> None:
    asked = asked_fault(asking)
    assert asked is not None
    assert (asked.id, asked.times) == ("C065", None)


@pytest.mark.parametrize("llm", ["fault/", "fault/C999", "fault/C065/x", "shop"])
def test_unknown_faults_are_not_asked_for(llm: str) -> None:
    assert asked_fault(request(llm)) is None


def test_counted_fault_is_over_after_its_times() -> None:
    asked = asked_fault(request("fault/status-500/2"))
    assert asked is not None
    assert asked.applies(request("fault/status-500/2"), 1)
    assert not asked.applies(request("fault/status-500/2"), 2)


@pytest.mark.parametrize("name", ["C048", "C053"])
def test_tool_faults_end_once_the_tool_has_answered(name: str) -> None:
    asking = request(f"fault/{name}", last="tool")
    asked = asked_fault(asking)
    assert asked is not None
    assert not asked.applies(asking, 0)


def test_slow_healthy_answer_takes_minutes_at_one_word_a_second() -> None:
    """C075; too slow to be waited for here."""
    behaviour = FAULTS["C075"].behaviour
    assert isinstance(behaviour, Say)
    answer = answer_for(behaviour, request("x", stream=True), Pace(), "id")
    steps = list(answer.steps)
    assert answer.gap_ms == 1000
    assert len(steps) >= 180
    assert not any(isinstance(step, Pause) for step in steps)
