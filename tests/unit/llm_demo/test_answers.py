"""From behaviour and request to bytes."""

import itertools
from typing import Any

import orjson
import pytest

from parley.server.llm.demo import Behaviour, CallTool, Chunks, Framing, Hang, Refuse, Say
from parley.server.llm.demo.answers import Pace, Pause, answer_for
from parley.server.llm.demo.defaults import default_behaviour, spoken_words
from parley.server.llm.demo.frames import split
from parley.server.llm.demo.request import ChatRequest, read_request
from parley.server.llm.demo.schema_values import fitting_value


def request(llm: str = "shop", **fields: object) -> ChatRequest:
    messages = [{"role": "user", "content": "hi"}]
    return read_request(orjson.dumps({"model": llm, "messages": messages, **fields}), {})


def streamed(behaviour: Behaviour, *, usage: bool = False) -> list[bytes]:
    asking = request(stream=True, stream_options={"include_usage": usage})
    steps = answer_for(behaviour, asking, Pace(), "id").steps
    return [step for step in steps if isinstance(step, bytes)]


def chunks_of(behaviour: Behaviour, *, usage: bool = False) -> list[dict[str, Any]]:
    frames = b"".join(streamed(behaviour, usage=usage)).decode().split("\n\n")
    return [orjson.loads(one.removeprefix("data: ")) for one in frames if one.startswith("data: {")]


def deltas_of(behaviour: Behaviour) -> list[dict[str, Any]]:
    return [choice["delta"] for chunk in chunks_of(behaviour) for choice in chunk["choices"]]


@pytest.mark.parametrize("chunks", [None, 1, 2, 7, 50, ("He", "llo  wor", "ld \n")])
def test_split_loses_nothing(chunks: int | tuple[str, ...] | None) -> None:
    assert "".join(split("Hello  world \n", chunks)) == "Hello  world \n"


def test_split_gives_the_number_of_pieces_asked_for() -> None:
    assert len(split("a b c d e", 3)) == 3
    assert len(split('{"score":0.5}', 5)) == 5
    assert len(split("ab", 5)) == 2
    assert list(split("", 5)) == []


def test_said_words_arrive_in_their_chunks_with_reasoning_before() -> None:
    deltas = deltas_of(Say("Good day", chunks=("Good", " day"), reasoning="hm", reasoning_field="reasoning"))
    assert deltas == [
        {"role": "assistant", "content": ""},
        {"reasoning": "hm"},
        {"content": "Good"},
        {"content": " day"},
        {},
    ]


def test_refusal_has_no_content() -> None:
    assert {"refusal": "No"} in deltas_of(Refuse("No"))
    assert not any(change.get("content") for change in deltas_of(Refuse("No")))


def test_tool_call_arguments_are_whole_once_joined() -> None:
    calls = [
        change["tool_calls"][0] for change in deltas_of(CallTool("f", '{"a": 1}')) if "tool_calls" in change
    ]
    assert "".join(call["function"]["arguments"] for call in calls) == '{"a": 1}'
    assert [call.get("id") for call in calls][:2] == ["call_1", None]


def test_usage_comes_only_when_asked_for() -> None:
    assert not any("usage" in chunk for chunk in chunks_of(Say("x")))
    assert chunks_of(Say("x"), usage=True)[-1]["usage"]["completion_tokens"] == 1
    assert not any("usage" in chunk for chunk in chunks_of(Say("x", usage="absent"), usage=True))


def test_null_usage_stands_on_every_chunk() -> None:
    assert all(chunk["usage"] is None for chunk in chunks_of(Say("x y", usage="null"), usage=True))


def test_finish_and_done_can_be_left_out() -> None:
    assert streamed(Say("x"))[-1] == b"data: [DONE]\n\n"
    bare = streamed(Say("x", finish=None, done=False))
    assert b'"content":"x"' in bare[-1]


def test_given_fields_of_a_chunk_win() -> None:
    chunk = chunks_of(Chunks(({"id": "mine", "choices": []},), finish=None))[0]
    assert (chunk["id"], chunk["model"]) == ("mine", "shop")


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_framing_changes_line_ends_alone(newline: str) -> None:
    framing = Framing(newline=newline)  # type: ignore[arg-type]
    odd = b"".join(streamed(Say("x", framing=framing))).decode()
    assert "\n" not in odd.replace("\r\n", "")
    assert odd.replace(newline, "\n").encode() == b"".join(streamed(Say("x")))


def test_writes_may_cut_anywhere() -> None:
    pieces = streamed(Say("Köln", framing=Framing(write_bytes=1)))
    assert {len(piece) for piece in pieces} == {1}
    assert "Köln".encode() in b"".join(pieces)


def test_behaviours_own_pace_wins() -> None:
    pace = Pace(latency_ms=9, gap_ms=8)
    slow = answer_for(Say("x", latency_ms=1, gap_ms=2), request(stream=True), pace, "id")
    other = answer_for(Hang(0), request(stream=True), pace, "id")
    assert (slow.latency_ms, slow.gap_ms) == (1, 2)
    assert (other.latency_ms, other.gap_ms) == (9, 8)


def test_comments_fill_the_silence_for_ever() -> None:
    answer = answer_for(Hang(0, comment_every_ms=5), request(stream=True), Pace(), "id")
    assert list(itertools.islice(answer.steps, 4)) == [b": keep-alive\n\n", Pause(5)] * 2


def test_default_words_differ_from_turn_to_turn() -> None:
    for part in ("user", "assistant"):
        said = [spoken_words(part, turn, 20) for turn in range(1, 30)]
        assert all(one != other for one, other in itertools.pairwise(said))
        assert {len(one) for one in said} == {20}


def test_default_judge_gives_an_opinion_in_the_schemas_shape() -> None:
    schema = {
        "properties": {
            "reasoning": {"type": "string"},
            "score": {"type": "number"},
            "extra": {"type": "boolean"},
        }
    }
    asked = {"type": "json_schema", "json_schema": {"name": "opinion", "schema": schema}}
    said = default_behaviour(request("judge", response_format=asked), 20, 0.7)
    assert isinstance(said, Say)
    fields = orjson.loads(said.text)
    assert list(fields) == ["reasoning", "score", "extra"]
    assert (fields["score"], fields["extra"]) == (0.7, False)


def test_default_judge_without_a_schema_gives_reasoning_and_score() -> None:
    said = default_behaviour(request("judge"), 20, 0.5)
    assert isinstance(said, Say)
    assert list(orjson.loads(said.text)) == ["reasoning", "score"]


def test_schema_values_follow_references_and_choices() -> None:
    schema = {
        "$defs": {"word": {"enum": ["a", "b"]}},
        "properties": {
            "word": {"$ref": "#/$defs/word"},
            "maybe": {"anyOf": [{"type": "null"}, {"type": "integer", "minimum": 3}]},
            "list": {"type": "array", "items": {"const": 7}, "minItems": 2},
            "kinds": {"type": ["null", "boolean"]},
        },
    }
    assert fitting_value(schema, {}) == {"word": "a", "maybe": 3, "list": [7, 7], "kinds": False}


def test_recursive_schemas_come_to_an_end() -> None:
    schema = {"properties": {"next": {"$ref": "#"}}}
    assert "next" in fitting_value(schema, {})
