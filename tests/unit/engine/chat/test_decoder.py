"""Streams as providers really send them, case by case. Each is fed whole and byte by byte."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from parley.engine.chat.decoder import ChatDecoder
from parley.engine.chat.faults import InferenceFault
from parley.engine.chat.pieces import Closing, Piece, Usage
from parley.engine.chat.response import MASK, Disclosure
from parley.engine.messages import Part, Reasoning, Refusal, Text, ToolCall, ToolResult

DONE = b"data: [DONE]\n\n"
USAGE = {"prompt_tokens": 9, "completion_tokens": 3}


def sse(*payloads: Any) -> bytes:
    return b"".join(
        b"data: " + (p if isinstance(p, bytes) else json.dumps(p).encode()) + b"\n\n" for p in payloads
    )


def delta(finish_reason: Any = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish_reason}]}


def answer(*deltas: dict[str, Any], finish_reason: str = "stop") -> bytes:
    return sse(*deltas, delta(finish_reason)) + DONE


def calls(*pieces: Any) -> dict[str, Any]:
    return delta(tool_calls=list(pieces))


def piece(arguments: Any = None, *, name: Any = None, **fields: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {**fields, "function": {key: value for key, value in function.items() if value is not None}}


def merged(pieces: Iterable[Piece]) -> list[Part]:
    """The parts, neighbouring words of one kind joined: what does not depend on how bytes were cut."""
    parts: list[Part] = []
    for each in pieces:
        last = parts[-1] if parts else None
        if isinstance(each, Text | Reasoning | Refusal) and type(each) is type(last):
            assert isinstance(last, Text | Reasoning | Refusal)
            parts[-1] = type(each)(text=last.text + each.text)
        elif not isinstance(each, Closing):
            parts.append(each)
    return parts


@dataclass
class Decoded:
    parts: list[Part]
    closing: Closing | None = None
    fault: InferenceFault | None = None

    def told(self) -> tuple[Any, ...]:
        fault = self.fault
        return self.parts, self.closing, fault and (fault.code, fault.message, fault.usage, fault.retryable)


def decode_chunks(chunks: Iterable[bytes], **options: Any) -> Decoded:
    decoder = ChatDecoder("configured", **options)
    pieces: list[Piece] = []
    try:
        for chunk in chunks:
            pieces += decoder.feed(chunk)
        pieces += decoder.close()
    except InferenceFault as fault:
        return Decoded(merged(pieces), fault=fault)
    assert [isinstance(each, Closing) for each in pieces].count(True) == 1
    closing = pieces[-1]
    assert isinstance(closing, Closing)
    return Decoded(merged(pieces), closing)


def decode(stream: bytes, **options: Any) -> Decoded:
    whole = decode_chunks([stream], **options)
    by_byte = decode_chunks((stream[i : i + 1] for i in range(len(stream))), **options)
    assert by_byte.told() == whole.told()
    return whole


def closing_of(stream: bytes, **options: Any) -> Closing:
    closing = decode(stream, **options).closing
    assert closing is not None
    return closing


def fault_of(stream: bytes, **options: Any) -> InferenceFault:
    fault = decode(stream, **options).fault
    assert fault is not None
    return fault


def parts_of(stream: bytes, *notes: str) -> list[Part]:
    """The parts of a complete stream that is unusual in `notes` only."""
    decoded = decode(stream)
    assert decoded.fault is None
    assert decoded.closing is not None
    assert decoded.closing.notes == notes
    return decoded.parts


# Words


@pytest.mark.parametrize(
    ("fields", "parts"),
    [
        pytest.param({"content": "a"}, [Text(text="a")], id="content"),
        pytest.param({"content": None}, [], id="C082-content-null"),
        pytest.param({"content": ""}, [], id="content-empty"),
        pytest.param({"role": "assistant"}, [], id="C082-role-only"),
        pytest.param({"reasoning": "r"}, [Reasoning(text="r")], id="C059-reasoning"),
        pytest.param({"reasoning_content": "r"}, [Reasoning(text="r")], id="C059-reasoning-content"),
        pytest.param({"thinking": "r"}, [Reasoning(text="r")], id="C059-thinking"),
        pytest.param(
            {"reasoning_details": [{"type": "reasoning.text", "text": "r"}, {"summary": "s"}, {"data": "x"}]},
            [Reasoning(text="rs")],
            id="C059-reasoning-details",
        ),
        pytest.param(
            {"reasoning_content": "r", "reasoning": "r"}, [Reasoning(text="r")], id="C059-sent-twice"
        ),
        pytest.param(
            {"reasoning_content": {"x": 1}, "reasoning": "r"},
            [Reasoning(text="r")],
            id="C059-first-without-text",
        ),
        pytest.param({"reasoning_content": "", "content": "a"}, [Text(text="a")], id="C059-reasoning-empty"),
        pytest.param(
            {"content": "a", "reasoning": "r"},
            [Reasoning(text="r"), Text(text="a")],
            id="thinks-before-it-speaks",
        ),
        pytest.param({"refusal": "no"}, [Refusal(text="no")], id="C062-refusal"),
        pytest.param({"refusal": None, "content": "a"}, [Text(text="a")], id="C062-refusal-null"),
        pytest.param(
            {
                "content": [
                    {"type": "thinking", "thinking": "r"},
                    {"type": "text", "text": "a"},
                    "b",
                    {"text": "c"},
                    {"type": "output_text", "text": {"value": "d"}},
                    {"type": "refusal", "refusal": "no"},
                ]
            },
            [Reasoning(text="r"), Text(text="abcd"), Refusal(text="no")],
            id="C061-parts",
        ),
        pytest.param(
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "r"}]}]},
            [Reasoning(text="r")],
            id="C061-nested-thinking",
        ),
        pytest.param(
            {
                "content": [
                    {"type": "reasoning", "reasoning": "a"},
                    {"type": "reasoning_content", "content": "b"},
                    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "c"}]},
                ]
            },
            [Reasoning(text="abc")],
            id="C061-other-names-of-thinking",
        ),
        pytest.param(
            {"content": [{"type": "text", "text": [[["deep"]]]}]},
            [Text(text="deep")],
            id="C061-part-nested-as-deeply-as-read",
        ),
        pytest.param({"content": {"type": "text", "text": "a"}}, [Text(text="a")], id="C061-one-part"),
        pytest.param({"content": [{"type": "text", "text": 5}]}, [], id="C061-part-without-text"),
        pytest.param(
            {"content": [{"type": "text", "text": [[[["too deep"]]]]}]}, [], id="C061-part-nested-too-deeply"
        ),
        pytest.param({"content": "a\x00b"}, [Text(text="a\ufffdb")], id="nul"),
        pytest.param({"content": "a\u2028b\u2029c\u0085d"}, [Text(text="a\u2028b\u2029c\u0085d")], id="C078"),
    ],
)
def test_delta_gives_its_words(fields: dict[str, Any], parts: list[Part]) -> None:
    assert parts_of(answer(delta(**fields))) == parts


def test_neighbouring_words_of_one_kind_in_one_feed_are_one_piece() -> None:
    decoder = ChatDecoder("m")
    assert decoder.feed(sse(delta(content="a"), delta(content="b"), delta(reasoning="c"))) == [
        Text(text="ab"),
        Reasoning(text="c"),
    ]
    assert decoder.feed(sse(delta(reasoning="d"))) == [Reasoning(text="d")]
    assert decoder.feed(b": ping\n\n") == []


@pytest.mark.parametrize(
    ("part", "named"),
    [
        ({"type": "image_url", "image_url": {}}, "image_url"),
        ({"type": "a\x00" + "b" * 200}, "a\ufffd" + "b" * 98),
        ({"type": 5}, "dict"),
        (7, "int"),
        (None, "NoneType"),
    ],
)
def test_unknown_content_part_is_skipped_with_a_note(part: Any, named: str) -> None:
    """C061."""
    stream = answer(delta(content=[part, {"type": "text", "text": "a"}]))
    assert parts_of(stream, f"a content part of type {named} was skipped") == [Text(text="a")]


def test_raw_line_separators_in_utf8_are_kept() -> None:
    """C078."""
    stream = sse('{"choices":[{"delta":{"content":"a\u2028b\u0085c"},"finish_reason":"stop"}]}'.encode())
    assert parts_of(stream) == [Text(text="a\u2028b\u0085c")]


def test_characters_cut_between_network_chunks_are_whole() -> None:
    """C077."""
    stream = sse('{"choices":[{"delta":{"content":"Grüße 👋 你好"},"finish_reason":"stop"}]}'.encode())
    assert parts_of(stream) == [Text(text="Grüße 👋 你好")]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_line_ends_make_no_difference(end: bytes) -> None:
    """C076."""
    stream = answer(delta(content="a"), delta(content="b")).replace(b"\n", end).replace(b"data: ", b"data:")
    assert parts_of(stream) == [Text(text="ab")]


# Halves of characters


HIGH, LOW = "\ud83d", "\ude00"


@pytest.mark.parametrize(
    ("deltas", "parts"),
    [
        pytest.param([delta(content="a" + HIGH), delta(content=LOW + "b")], [Text(text="a😀b")], id="joined"),
        pytest.param([delta(content=HIGH), delta(content=LOW)], [Text(text="😀")], id="nothing-but-halves"),
        pytest.param(
            [delta(content=HIGH), delta(role="assistant"), {"choices": []}, delta(content=LOW)],
            [Text(text="😀")],
            id="joined-over-chunks-without-words",
        ),
        pytest.param([delta(content=HIGH + LOW)], [Text(text="😀")], id="in-one-chunk"),
        pytest.param(
            [delta(content="a" + HIGH), delta(content="b")], [Text(text="a\ufffdb")], id="no-second"
        ),
        pytest.param([delta(content="a"), delta(content=LOW)], [Text(text="a\ufffd")], id="no-first"),
        pytest.param([delta(content="a" + HIGH)], [Text(text="a\ufffd")], id="alone-at-the-end"),
        pytest.param(
            [delta(content=HIGH), delta(reasoning=LOW)],
            [Text(text="\ufffd"), Reasoning(text="\ufffd")],
            id="not-joined-across-kinds",
        ),
        pytest.param(
            [delta(content=HIGH), calls(piece("{}", name="f", id="c"))],
            [Text(text="\ufffd"), ToolCall(id="c", name="f", arguments="{}")],
            id="not-joined-across-a-call",
        ),
        pytest.param(
            [delta(content=HIGH), delta(content=HIGH + LOW)], [Text(text="\ufffd😀")], id="two-firsts"
        ),
        pytest.param([delta(refusal=HIGH), delta(refusal=LOW)], [Refusal(text="😀")], id="refusal"),
        pytest.param(
            [calls(piece(f'"{HIGH}', name="f", id="c", index=0)), calls(piece(f'{LOW}"', index=0))],
            [ToolCall(id="c", name="f", arguments='"😀"')],
            id="arguments",
        ),
    ],
)
def test_halves_of_a_character_meet(deltas: list[dict[str, Any]], parts: list[Part]) -> None:
    assert parts_of(answer(*deltas)) == parts


def test_half_character_is_held_back_until_the_next_words() -> None:
    decoder = ChatDecoder("m")
    assert decoder.feed(sse(delta(content="a" + HIGH))) == [Text(text="a")]
    assert decoder.feed(sse(delta(content=LOW))) == [Text(text="😀")]
    assert decoder.feed(sse(delta(content=HIGH))) == []
    assert decoder.feed(sse(delta("stop"))) == []
    assert decoder.close()[0] == Text(text="\ufffd")


# Tool calls

CALL = ToolCall(id="c1", name="find", arguments='{"a":1}')
NO_ID = "a tool call came without an id"


@pytest.mark.parametrize(
    ("deltas", "expected", "notes"),
    [
        pytest.param(
            [
                calls(piece("", name="find", id="c1", index=0)),
                calls(piece('{"a"', index=0), piece(":1}", index=0)),
            ],
            [CALL],
            [],
            id="usual",
        ),
        pytest.param(
            [calls(piece('{"a"', name="find", id="c1")), calls(piece(":1}"))], [CALL], [], id="C048-no-index"
        ),
        pytest.param(
            [calls(piece('{"a":1}', name="find", id="c1", index=None))], [CALL], [], id="C048-index-null"
        ),
        pytest.param(
            [calls(piece('{"a"', name="find", id="c1", index="0"), piece(":1}", index="0"))],
            [CALL],
            [],
            id="index-as-string",
        ),
        pytest.param(
            [calls(piece('{"a"', name="find", index=0)), calls(piece(":1}", index=0))],
            [ToolCall(id="call_1", name="find", arguments='{"a":1}')],
            [NO_ID],
            id="C051-no-id",
        ),
        pytest.param(
            [calls(piece("1", name="f", index=0), piece("2", name="g", index=1))],
            [ToolCall(id="call_1", name="f", arguments="1"), ToolCall(id="call_2", name="g", arguments="2")],
            [NO_ID],
            id="C051-several-without-id",
        ),
        pytest.param(
            [calls(piece("1", name="f", index=0, id="call_1")), calls(piece("2", name="g", index=1))],
            [ToolCall(id="call_1", name="f", arguments="1"), ToolCall(id="call_2", name="g", arguments="2")],
            [NO_ID],
            id="C051-made-up-id-is-not-taken",
        ),
        pytest.param(
            [calls(piece('{"a"', name="find", index=0)), calls(piece(":1}", index=0, id="c1"))],
            [CALL],
            [],
            id="C051-id-comes-later",
        ),
        pytest.param(
            [
                calls(piece('{"a"', name="find", index=0)),
                calls(piece(":1}", name="find", index=0, id="c1")),
            ],
            [CALL],
            [],
            id="C051-id-comes-later-with-the-name-again",
        ),
        pytest.param(
            [calls(piece(None, index=0, id="c1")), calls(piece('{"a":1}', name="find", index=0))],
            [CALL],
            [],
            id="id-comes-alone",
        ),
        pytest.param(
            [
                calls(piece(text, name="find", id="c1", index=0, type="function"))
                for text in ('{"a"', ":1", "}")
            ],
            [CALL],
            [],
            id="C052-all-repeated",
        ),
        pytest.param(
            [calls(piece(text, name="find", id="c1")) for text in ('{"a"', ":1", "}")],
            [CALL],
            [],
            id="C052-all-repeated-without-index",
        ),
        pytest.param(
            [calls(piece(text, name="find")) for text in ('{"a"', ":1", "}", "")],
            [ToolCall(id="call_1", name="find", arguments='{"a":1}')],
            [NO_ID],
            id="C052-name-repeated-without-index-and-id",
        ),
        pytest.param(
            [calls(piece("{}", name="f", index=0, id="x")), calls(piece("{}", index=0, id="y"))],
            [ToolCall(id="x", name="f", arguments="{}{}")],
            [],
            id="C052-another-id-without-a-name",
        ),
        pytest.param(
            [calls(piece("{}{}", name="f", id="c", index=0))],
            [ToolCall(id="c", name="f", arguments="{}{}")],
            [],
            id="C053-doubled",
        ),
        pytest.param(
            [calls(piece(None, name="f", id="c", index=0))],
            [ToolCall(id="c", name="f", arguments="")],
            [],
            id="C053-empty",
        ),
        pytest.param(
            [calls(piece('{"a', name="f", id="c", index=0))],
            [ToolCall(id="c", name="f", arguments='{"a')],
            [],
            id="C053-broken",
        ),
        pytest.param(
            [calls(piece({"a": [1, "é"]}, name="f", id="c", index=0))],
            [ToolCall(id="c", name="f", arguments='{"a":[1,"é"]}')],
            [],
            id="C053-object",
        ),
        pytest.param(
            [
                calls(piece("1", name="f", id="a", index=0)),
                calls(piece("2", name="g", id="b", index=1)),
                calls(piece("3", index=0), piece("4", index=1)),
            ],
            [ToolCall(id="a", name="f", arguments="13"), ToolCall(id="b", name="g", arguments="24")],
            [],
            id="parallel-interleaved",
        ),
        pytest.param(
            [calls(piece("{}", name="f", id="a", index=0)), calls(piece("{}", name="f", id="b", index=0))],
            [ToolCall(id="a", name="f", arguments="{}"), ToolCall(id="b", name="f", arguments="{}")],
            [],
            id="parallel-all-numbered-0",
        ),
        pytest.param(
            [calls(piece("{}", name="f", id="a", index=0)), calls(piece("{}", name="f", id="a", index=1))],
            [ToolCall(id="a", name="f", arguments="{}"), ToolCall(id="a", name="f", arguments="{}")],
            [],
            id="parallel-with-one-id",
        ),
        pytest.param(
            [calls(piece("1", name="f", id="a")), calls(piece("2", name="f", id="b")), calls(piece("3"))],
            [ToolCall(id="a", name="f", arguments="1"), ToolCall(id="b", name="f", arguments="23")],
            [],
            id="parallel-without-index",
        ),
        pytest.param(
            [
                calls(piece("1", name="f", id="a")),
                calls(piece("2", name="f", id="b")),
                calls(piece("3", id="a")),
            ],
            [ToolCall(id="a", name="f", arguments="13"), ToolCall(id="b", name="f", arguments="2")],
            [],
            id="parallel-without-index-told-apart-by-id",
        ),
        pytest.param(
            [calls(piece("1", name="f", id="a")), calls(piece("2", id="b"))],
            [ToolCall(id="a", name="f", arguments="12")],
            [],
            id="other-id-without-index-and-name-goes-on",
        ),
        pytest.param(
            [calls(piece("1", name="f")), calls(piece("2", name="f", id="b"))],
            [ToolCall(id="b", name="f", arguments="12")],
            [],
            id="id-comes-later-without-index",
        ),
        pytest.param(
            [calls(piece("{}", name="f"), piece("{}", name="f")), calls(piece("{}", name="f"))],
            [ToolCall(id=f"call_{i}", name="f", arguments="{}") for i in (1, 2, 3)],
            [NO_ID],
            id="parallel-whole-without-index-and-id",
        ),
        pytest.param(
            [calls(piece("{", name="f")), calls(piece("{", name="g"))],
            [ToolCall(id="call_1", name="f", arguments="{"), ToolCall(id="call_2", name="g", arguments="{")],
            [NO_ID],
            id="other-name-begins-another-call",
        ),
        pytest.param(
            [calls(piece("1", name="f")), calls(piece("2", name="f"))],
            [ToolCall(id="call_1", name="f", arguments="12")],
            [NO_ID],
            id="arguments-that-are-no-object-go-on",
        ),
        pytest.param(
            [calls(piece('{"a":"' + "x" * 16_377 + '"}', name="f")), calls(piece("{}", name="f"))],
            [
                ToolCall(id="call_1", name="f", arguments='{"a":"' + "x" * 16_377 + '"}{}'),
            ],
            [NO_ID],
            id="long-arguments-are-not-read-while-they-grow",
        ),
        pytest.param(
            [calls(piece('{"a":"' + "x" * 16_376 + '"}', name="f")), calls(piece("{}", name="f"))],
            [
                ToolCall(id="call_1", name="f", arguments='{"a":"' + "x" * 16_376 + '"}'),
                ToolCall(id="call_2", name="f", arguments="{}"),
            ],
            [NO_ID],
            id="arguments-as-long-as-are-read",
        ),
        pytest.param(
            [calls(piece("{", id="c", index=0)), calls(piece("}", name="f", index=0))],
            [ToolCall(id="c", name="f", arguments="{}")],
            [],
            id="name-comes-later",
        ),
        pytest.param(
            [calls(piece("{}", id="c")), calls(piece("", name="f"))],
            [ToolCall(id="c", name="f", arguments="{}")],
            [],
            id="name-comes-later-without-index",
        ),
        pytest.param(
            [calls(piece("{}", id="c", index=0))],
            [ToolCall(id="c", name="", arguments="{}")],
            ["a tool call came without a name"],
            id="no-name",
        ),
        pytest.param(
            [calls({"id": "c1", "name": "find", "arguments": '{"a":1}'})], [CALL], [], id="without-function"
        ),
        pytest.param(
            [calls({"id": "c1", "function": None, "name": "find"}), calls({"arguments": '{"a":1}'})],
            [CALL],
            [],
            id="function-null",
        ),
        pytest.param(
            [calls(piece("1", id=5, name=7, index=0))],
            [ToolCall(id="call_1", name="", arguments="1")],
            ["a tool call came without a name", NO_ID],
            id="id-and-name-of-another-type",
        ),
        pytest.param(
            [calls({}, {"index": 0, "type": "function"}, piece("", id="", name=""))],
            [],
            [],
            id="says-nothing",
        ),
        pytest.param(
            [calls("x", piece("{}", name="f", id="c", index=0))],
            [ToolCall(id="c", name="f", arguments="{}")],
            ["a tool call that is not an object was skipped"],
            id="not-an-object",
        ),
        pytest.param(
            [delta(tool_calls=piece('{"a":1}', name="find", id="c1"))], [CALL], [], id="not-in-a-list"
        ),
        pytest.param([delta(tool_calls=None), delta(tool_calls=[])], [], [], id="null-and-empty"),
        pytest.param(
            [
                delta(function_call={"name": "find", "arguments": '{"a"'}),
                delta(function_call={"arguments": ":1}"}),
            ],
            [ToolCall(id="call_1", name="find", arguments='{"a":1}')],
            [NO_ID],
            id="old-function-call",
        ),
        pytest.param(
            [calls(piece("a\x00\ud800", name="f\x00", id="c\ud800", index=0))],
            [ToolCall(id="c\ufffd", name="f\ufffd", arguments="a\ufffd\ufffd")],
            [],
            id="cleaned",
        ),
    ],
)
def test_tool_calls_are_put_together(
    deltas: list[dict[str, Any]], expected: list[ToolCall], notes: list[str]
) -> None:
    assert parts_of(answer(*deltas, finish_reason="tool_calls"), *notes) == expected


def test_made_up_ids_take_the_given_beginning() -> None:
    decoded = decode(answer(calls(piece("1", name="f"))), made_up_ids="t3_")
    assert decoded.parts == [ToolCall(id="t3_1", name="f", arguments="1")]


def test_calls_and_words_stand_in_the_order_they_came() -> None:
    stream = answer(
        delta(content="a"),
        calls(piece("{}", name="f", id="x", index=0)),
        delta(content="b"),
        calls(piece("{}", name="g", id="y", index=0)),
    )
    assert parts_of(stream) == [
        Text(text="a"),
        ToolCall(id="x", name="f", arguments="{}"),
        Text(text="b"),
        ToolCall(id="y", name="g", arguments="{}"),
    ]


def test_call_is_given_whole_when_the_next_part_starts() -> None:
    decoder = ChatDecoder("m")
    assert decoder.feed(sse(calls(piece('{"a"', name="find", id="c1", index=0)))) == []
    assert decoder.feed(sse(calls(piece(":1}", index=0)))) == []
    assert decoder.feed(sse(delta(content="a"))) == [CALL, Text(text="a")]


def test_piece_of_a_call_that_was_given_out_begins_another() -> None:
    stream = answer(
        calls(piece('{"a":1}', name="find", id="c1", index=0)),
        delta(content="a"),
        calls(piece("more", index=0)),
    )
    assert parts_of(stream, "a tool call came without a name", NO_ID) == [
        CALL,
        Text(text="a"),
        ToolCall(id="call_1", name="", arguments="more"),
    ]


def test_words_of_no_text_do_not_end_a_call() -> None:
    stream = answer(
        calls(piece('{"a"', name="find", id="c1", index=0)),
        delta(content="", reasoning="", refusal=""),
        delta(content=[{"type": "text", "text": ""}]),
        calls(piece(":1}", index=0)),
    )
    assert parts_of(stream) == [CALL]


@pytest.mark.parametrize("number", [b"1e999", b"-1e999"])
def test_arguments_with_a_number_that_is_not_finite_are_malformed(number: bytes) -> None:
    stream = sse(b'{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":{"a":%b}}}]}}]}' % number)
    fault = fault_of(stream)
    assert fault.code == "stream_malformed"
    assert fault.message == "the endpoint sent arguments of a tool call that are not JSON"


# Tool results

RESULT = ToolResult(id="c1", name="find", content="42")
STRANGE_RESULT = "a tool result came for a call that was not streamed"


def tool(content: Any = None, **fields: Any) -> dict[str, Any]:
    return delta(role="tool", content=content, **fields)


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        pytest.param([tool("42", tool_call_id="c1")], [RESULT], id="role-tool"),
        pytest.param([tool("4", tool_call_id="c1"), tool("2", tool_call_id="c1")], [RESULT], id="joined"),
        pytest.param([tool("4"), tool("2")], [RESULT], id="without-an-id"),
        pytest.param([tool("42", tool_call_id=5)], [RESULT], id="id-of-another-type"),
        pytest.param([tool("42", tool_call_id="c1"), tool(None, tool_call_id="c1")], [RESULT], id="null"),
        pytest.param(
            [delta(tool_results=[{"tool_call_id": "c1", "name": "find", "content": "42"}])],
            [RESULT],
            id="tool-results",
        ),
        pytest.param([delta(tool_results={"id": "c1", "content": "42"})], [RESULT], id="one-with-id"),
        pytest.param(
            [delta(tool_results=[{"tool_call_id": "c1", "name": "other", "content": "42"}])],
            [ToolResult(id="c1", name="other", content="42")],
            id="own-name",
        ),
        pytest.param(
            [delta(tool_results=[{"tool_call_id": "c1", "content": [{"type": "text", "text": "4"}, "2"]}])],
            [RESULT],
            id="text-parts",
        ),
        pytest.param(
            [delta(tool_results=[{"tool_call_id": "c1", "content": {"value": 1, "text": "é"}}])],
            [ToolResult(id="c1", name="find", content='{"value":1,"text":"é"}')],
            id="object",
        ),
        pytest.param(
            [delta(tool_results=[{"tool_call_id": "c1", "content": [{"type": "row", "text": "a"}]}])],
            [ToolResult(id="c1", name="find", content='[{"type":"row","text":"a"}]')],
            id="list-of-data",
        ),
        pytest.param(
            [delta(tool_results=[{"tool_call_id": "c1", "content": [1]}])],
            [ToolResult(id="c1", name="find", content="[1]")],
            id="list-of-numbers",
        ),
        pytest.param(
            [delta(tool_results=[{"tool_call_id": "c1"}])],
            [ToolResult(id="c1", name="find", content="")],
            id="no-content",
        ),
        pytest.param(
            [tool("\x00" + HIGH, tool_call_id="c1"), tool(LOW, tool_call_id="c1", name="n\x00")],
            [ToolResult(id="c1", name="n\ufffd", content="\ufffd😀")],
            id="cleaned",
        ),
    ],
)
def test_results_the_gateway_streams_are_kept(
    deltas: list[dict[str, Any]], expected: list[ToolResult]
) -> None:
    stream = answer(calls(piece('{"a":1}', name="find", id="c1", index=0)), *deltas, delta(content="done"))
    assert parts_of(stream) == [CALL, *expected, Text(text="done")]


def test_results_without_ids_answer_the_calls_in_order() -> None:
    stream = answer(
        calls(*(piece("{}", name=name, index=i) for i, name in enumerate("fgh"))),
        tool("2", tool_call_id="call_2"),
        delta(tool_results=[{"content": "1"}]),
        delta(content="a"),
        delta(tool_results=[{"content": "3"}]),
    )
    results = [each for each in parts_of(stream, NO_ID) if isinstance(each, ToolResult)]
    assert [(each.id, each.name, each.content) for each in results] == [
        ("call_2", "g", "2"),
        ("call_1", "f", "1"),
        ("call_3", "h", "3"),
    ]


def test_results_in_a_row_stay_apart_by_id() -> None:
    stream = answer(
        calls(piece("{}", name="f", id="a", index=0), piece("{}", name="g", id="b", index=1)),
        tool("1", tool_call_id="a"),
        tool("2", tool_call_id="b", name="named"),
        tool("3", tool_call_id="a"),
    )
    assert parts_of(stream)[2:] == [
        ToolResult(id="a", name="f", content="1"),
        ToolResult(id="b", name="named", content="2"),
        ToolResult(id="a", name="f", content="3"),
    ]


def test_results_find_their_calls_by_either_name_of_the_id() -> None:
    stream = answer(
        calls(piece("{}", name="f", id="a", index=0), piece("{}", name="g", id="b", index=1)),
        delta(tool_results=[{"id": "b", "content": "2"}]),
    )
    assert parts_of(stream)[2:] == [ToolResult(id="b", name="g", content="2")]


def test_name_of_a_result_counts_once_and_may_come_first() -> None:
    deltas = [
        tool("1", tool_call_id="x", name="n"),
        tool("2", tool_call_id="x"),
        tool("3", tool_call_id="x", name="m"),
    ]
    assert parts_of(answer(*deltas), STRANGE_RESULT) == [ToolResult(id="x", name="n", content="123")]


def test_result_for_an_unknown_call_is_kept_with_a_note() -> None:
    assert parts_of(answer(tool("1", tool_call_id="x\x00")), STRANGE_RESULT) == [
        ToolResult(id="x\ufffd", name="", content="1")
    ]


def test_result_that_belongs_to_no_call_is_skipped_with_a_note() -> None:
    note = "a tool result that belongs to no call was skipped"
    assert parts_of(answer(delta(content="a"), tool("1"), delta(content="b")), note) == [Text(text="ab")]


def test_result_that_is_no_object_is_skipped_with_a_note() -> None:
    note = "a tool result that is not an object was skipped"
    assert parts_of(answer(delta(tool_results=["x"])), note) == []


def test_result_with_a_number_that_is_not_finite_is_malformed() -> None:
    fault = fault_of(sse(b'{"choices":[{"delta":{"tool_results":[{"id":"a","content":1e999}]}}]}'))
    assert (fault.code, fault.message) == (
        "stream_malformed",
        "the endpoint sent a tool result that is not JSON",
    )


def test_answer_after_a_streamed_tool_round_is_complete_only_with_its_own_end() -> None:
    round_one = sse(
        calls(piece("{}", name="f", id="c1", index=0)), delta("tool_calls"), tool("1", tool_call_id="c1")
    )
    assert fault_of(round_one + sse(delta(content="so"))).code == "stream_cut"
    assert closing_of(round_one + sse(delta(content="so"), delta("stop"))).finish_reason == "stop"


@pytest.mark.parametrize(
    "more", [calls(piece("{}", name="f", index=0)), tool("1", tool_call_id="c1"), delta(content="a")]
)
def test_whatever_comes_after_the_end_opens_the_answer_again(more: dict[str, Any]) -> None:
    assert fault_of(sse(delta("stop"), more)).code == "stream_cut"


@pytest.mark.parametrize("more", [calls({}), calls("x"), tool("1"), delta(content="", reasoning="")])
def test_what_says_nothing_after_the_end_leaves_it_complete(more: dict[str, Any]) -> None:
    assert closing_of(sse(delta("stop"), more)).finish_reason == "stop"


# Usage


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param([{"choices": [], "usage": USAGE}], (9, 0, 3), id="C054-last-chunk"),
        pytest.param([{"usage": USAGE}], (9, 0, 3), id="C054-no-choices"),
        pytest.param(
            [{"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}, {"usage": USAGE}],
            (9, 0, 3),
            id="every-chunk-last-wins",
        ),
        pytest.param(
            [{"choices": [], "usage": USAGE}, {"choices": [], "usage": None}], (9, 0, 3), id="C055-null-after"
        ),
        pytest.param([{"choices": [{"delta": {}, "usage": USAGE}]}], (9, 0, 3), id="in-the-choice"),
        pytest.param(
            [{"choices": [], "usage": {**USAGE, "prompt_tokens_details": {"cached_tokens": 4}}}],
            (9, 4, 3),
            id="C057",
        ),
        pytest.param([], None, id="C055-absent"),
        pytest.param([{"choices": [], "usage": None}], None, id="C055-null"),
    ],
)
def test_usage_is_the_last_one_reported(chunks: list[Any], expected: tuple[int, int, int] | None) -> None:
    closing = closing_of(sse(delta(content="a"), delta("stop"), *chunks) + DONE)
    usage = closing.usage
    assert closing.notes == ()
    found = usage and (usage.prompt_tokens, usage.cached_prompt_tokens, usage.completion_tokens)
    assert found == expected


def test_unusable_usage_leaves_the_earlier_one_and_a_note() -> None:
    closing = closing_of(answer({"usage": USAGE}, {"usage": {"prompt_tokens": -1, "completion_tokens": 1}}))
    assert closing.usage == Usage(model="configured", prompt_tokens=9, completion_tokens=3)
    assert closing.notes == ("usage without whole, positive numbers of tokens was ignored",)


def test_model_is_the_name_the_provider_gave_first() -> None:
    closing = closing_of(
        answer(
            {"model": None}, {"model": ""}, {"model": 5}, {"model": "a\x00"}, {"model": "b", "usage": USAGE}
        )
    )
    assert closing.model == "a\ufffd"
    assert closing.usage is not None
    assert closing.usage.model == "a\ufffd"


def test_long_name_of_the_llm_is_cut() -> None:
    assert closing_of(answer({"model": "x" * 101})).model == "x" * 100


def test_without_a_name_from_the_provider_usage_has_the_configured_one() -> None:
    closing = closing_of(answer({"usage": USAGE}))
    assert closing.model is None
    assert closing.usage is not None
    assert closing.usage.model == "configured"


# Endings


@pytest.mark.parametrize(
    ("reason", "finish_reason"),
    [
        ("stop", "stop"),
        ("STOP", "stop"),
        ("end_turn", "stop"),
        ("eos", "stop"),
        ("length", "length"),
        ("MAX_TOKENS", "length"),
        ("tool_calls", "tool_calls"),
        ("function_call", "tool_calls"),
        ("content_filter", "content_filter"),
        ("SAFETY", "content_filter"),
    ],
)
def test_finish_reason_is_told_in_our_words(reason: str, finish_reason: str) -> None:
    """C064."""
    closing = closing_of(answer(delta(content="a"), finish_reason=reason))
    assert (closing.finish_reason, closing.notes) == (finish_reason, ())


@pytest.mark.parametrize(
    ("reason", "named"),
    [("abort\x00", "abort\ufffd"), ("x" * 101, "x" * 100), (5, "int"), (["stop"], "list")],
)
def test_unknown_finish_reason_is_noted(reason: Any, named: str) -> None:
    closing = closing_of(sse(delta(reason)))
    assert (closing.finish_reason, closing.notes) == ("unknown", (f"finish_reason {named} is not known",))


def test_finish_reason_error_is_a_fault() -> None:
    """C065."""
    fault = fault_of(sse(delta("error", content="a")))
    assert (fault.code, fault.retryable) == ("provider_error", True)
    assert fault.message == "the provider reported an error: finish_reason is error"


@pytest.mark.parametrize(
    "tail", [b"", b": ping\n\n", sse({"choices": [], "usage": USAGE}), sse(delta(None)), sse(delta(""))]
)
def test_finish_without_done_is_complete(tail: bytes) -> None:
    """C070."""
    closing = closing_of(sse(delta(content="a"), delta("stop")) + tail)
    assert (closing.finish_reason, closing.notes) == ("stop", ())


def test_finish_in_the_chunk_of_the_last_words_is_complete() -> None:
    assert closing_of(sse(delta("stop", content="a"))).finish_reason == "stop"


@pytest.mark.parametrize(
    "done", [b"data: [DONE]\n\n", b"data:[DONE]", b"data:  [DONE] \r\n", b"data: [DONE]\n"]
)
def test_done_without_finish_is_complete_and_noted(done: bytes) -> None:
    """C071."""
    closing = closing_of(sse(delta(content="a")) + done)
    assert closing.finish_reason == "unknown"
    assert closing.notes == ("the stream ended without a finish_reason",)


def test_nothing_is_read_after_done() -> None:
    decoder = ChatDecoder("m")
    assert decoder.feed(answer(delta(content="a")) + sse(delta(content="b"))) == [Text(text="a")]
    assert decoder.done
    assert decoder.feed(sse(delta(content="c"), b"broken")) == []
    assert decoder.close() == [Closing(finish_reason="stop")]


def test_decoder_tells_when_it_is_answered_and_when_done() -> None:
    decoder = ChatDecoder("m")
    decoder.feed(sse(delta(content="a")))
    assert (decoder.answered, decoder.done) == (False, False)
    decoder.feed(sse(delta("stop")))
    assert (decoder.answered, decoder.done) == (True, False)
    decoder.feed(DONE)
    assert (decoder.answered, decoder.done) == (True, True)


@pytest.mark.parametrize(
    ("stream", "when"),
    [
        pytest.param(b"", "before anything was sent", id="nothing"),
        pytest.param(b": ping\n\n", "before anything was sent", id="only-comments"),
        pytest.param(b" \n", "before anything was sent", id="white-space"),
        pytest.param(b"\xef\xbb", "before anything was sent", id="half-a-mark"),
        pytest.param(b"dat", "before anything was sent", id="half-a-field-name"),
        pytest.param(sse(delta(content="a")), "before the answer was complete", id="after-words"),
        pytest.param(sse(delta(content="a"))[:-5], "before the answer was complete", id="inside-a-frame"),
        pytest.param(
            sse(delta(content="a")) + b"stranger\n", "before the answer was complete", id="stranger-later"
        ),
        pytest.param(b"data: \n\ndata:  \t\n\n", "before anything was sent", id="blank-frames"),
        pytest.param(b'{"choices": [{"mess', "before the answer was complete", id="half-a-body"),
    ],
)
def test_neither_finish_nor_done_is_a_cut_stream(stream: bytes, when: str) -> None:
    fault = fault_of(stream)
    assert (fault.code, fault.retryable) == ("stream_cut", True)
    assert fault.message == f"the connection ended {when}"


def test_cut_inside_the_frame_after_the_end_is_complete() -> None:
    assert closing_of(sse(delta("stop")) + b'data: {"usage": {"prom').finish_reason == "stop"


def test_last_frame_without_its_blank_line_counts() -> None:
    decoded = decode(sse(delta(content="a")) + sse(delta("stop", content="b")).rstrip())
    assert decoded.parts == [Text(text="ab")]
    assert decoded.closing == Closing(finish_reason="stop")


def test_cut_stream_keeps_the_usage_it_reported() -> None:
    fault = fault_of(sse({**delta(content="a"), "usage": USAGE}))
    assert fault.usage == Usage(model="configured", prompt_tokens=9, completion_tokens=3)


# Faults inside the stream


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        pytest.param(sse({"error": {"message": "too busy"}}), "too busy", id="C065-object"),
        pytest.param(sse({"error": "too busy"}), "too busy", id="C065-string"),
        pytest.param(sse({"object": "error", "message": "too busy"}), "too busy", id="object-error"),
        pytest.param(b"event: error\ndata: too busy\n\n", "too busy", id="event-error-text"),
        pytest.param(b'event: error\ndata: {"message": "too busy"}\n\n', "too busy", id="event-error-json"),
        pytest.param(b"event: error\ndata: too\ndata: busy\n\n", "too busy", id="event-error-lines"),
        pytest.param(b"event: error\ndata: \xff\n\n", "\ufffd", id="event-error-bytes"),
        pytest.param(b"event: error\n\n", "", id="event-error-empty"),
        pytest.param(b"event: error\ndata: too busy", "too busy", id="event-error-at-the-end"),
        pytest.param(
            sse({"choices": [{"index": 0, "error": {"message": "too busy"}, "delta": {"content": "b"}}]}),
            "too busy",
            id="in-the-choice",
        ),
    ],
)
def test_error_in_the_stream_is_a_fault_after_the_words_before_it(frame: bytes, text: str) -> None:
    decoded = decode(sse({**delta(content="a"), "usage": USAGE}) + frame)
    assert decoded.parts == [Text(text="a")]
    assert decoded.fault is not None
    assert decoded.fault.code == "provider_error"
    assert decoded.fault.message == "the provider reported an error" + (f": {text}" if text else "")
    assert decoded.fault.usage is not None


def test_error_of_nothing_is_none() -> None:
    assert parts_of(answer({"error": None}, {"error": ""}, {"error": {}}, delta(content="a"))) == [
        Text(text="a")
    ]


def test_other_event_names_are_read_as_any_frame() -> None:
    stream = b"event: message\n" + sse(delta(content="a")) + b"event: ping\n\nevent: x\n" + sse(delta("stop"))
    assert parts_of(stream) == [Text(text="a")]


def test_secrets_in_an_error_are_masked() -> None:
    stream = sse({"error": "bad key sk-12345"})
    assert fault_of(stream, disclosure=Disclosure(secrets=("sk-12345",))).message.endswith(f"bad key {MASK}")


@pytest.mark.parametrize("start", [b"data: ", b""])
@pytest.mark.parametrize("filler", [0, 190, 195, 199])
def test_secret_at_the_cut_of_an_excerpt_is_masked(start: bytes, filler: int) -> None:
    stream = start + b"x" * filler + b"sk-12345\n\n" + DONE
    if not start:
        stream = stream.removesuffix(DONE)
    assert "sk-" not in fault_of(stream, disclosure=Disclosure(secrets=("sk-12345",))).message


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        pytest.param(b'{"choices": [', 'a frame that is not JSON: {"choices": [', id="C087-broken"),
        pytest.param(b'{"a": "\xff"}', 'a frame that is not JSON: {"a": "\ufffd"}', id="C087-invalid-utf8"),
        pytest.param(b'{"a": NaN}', 'a frame that is not JSON: {"a": NaN}', id="nan"),
        pytest.param(b'{"a": "\\ud800", "b": Infinity}', None, id="infinity-beside-a-surrogate"),
        pytest.param(b'{"a": "\xed\xa0\x80"}', None, id="surrogate-in-utf8"),
        pytest.param(b"[" * 10_000, "a frame that is not JSON: " + "[" * 200, id="nested-too-deeply"),
        pytest.param(b"{} {}", "a frame that is not JSON: {} {}", id="two-values"),
        pytest.param(b"[]", "a frame that is not an object", id="list"),
        pytest.param(b"null", "a frame that is not an object", id="null"),
        pytest.param(b'{"choices": {"a": 1}}', "choices that are not a list", id="choices"),
        pytest.param(b'{"choices": [5]}', "a choice that is not an object", id="choice"),
        pytest.param(b'{"choices": [{"delta": "x"}]}', "a delta that is not an object", id="delta"),
    ],
)
def test_unreadable_frame_is_malformed(payload: bytes, message: str | None) -> None:
    decoded = decode(sse(delta(content="a"), payload, delta("stop")))
    assert decoded.parts == [Text(text="a")]
    assert decoded.fault is not None
    assert (decoded.fault.code, decoded.fault.retryable) == ("stream_malformed", False)
    if message is not None:
        assert decoded.fault.message == f"the endpoint sent {message}"


def test_pieces_before_a_fault_are_given_first_and_the_fault_stays() -> None:
    decoder = ChatDecoder("m")
    assert decoder.feed(sse(delta(content="a"), b"broken")) == [Text(text="a")]
    assert decoder.done
    with pytest.raises(InferenceFault, match="not JSON"):
        decoder.feed(b"")
    with pytest.raises(InferenceFault, match="not JSON"):
        decoder.feed(sse(delta(content="b")))
    with pytest.raises(InferenceFault, match="not JSON"):
        decoder.close()


def test_fault_with_nothing_before_it_is_raised_at_once() -> None:
    with pytest.raises(InferenceFault):
        ChatDecoder("m").feed(sse(b"broken"))


def test_open_call_is_not_given_when_the_attempt_fails() -> None:
    decoded = decode(sse(calls(piece("{}", name="f", id="c", index=0)), b"broken"))
    assert decoded.parts == []


# Choices


def test_only_the_first_choice_counts() -> None:
    stream = sse(
        {"choices": [{"index": 1, "delta": {"content": "x"}, "finish_reason": "length"}]},
        {"choices": [{"index": 0, "delta": {"content": "a"}}, {"index": 1, "delta": {"content": "y"}}]},
        {"choices": [{"index": "0", "delta": {"content": "b"}}]},
        {"choices": [{"delta": {"content": "c"}}]},
        {"choices": [{"index": None, "delta": {}, "finish_reason": "stop"}]},
    )
    assert parts_of(stream, "choices after the first were ignored") == [Text(text="abc")]


@pytest.mark.parametrize(
    "chunk",
    [
        pytest.param({"choices": []}, id="C083-empty-choices"),
        pytest.param({"choices": None}, id="null-choices"),
        pytest.param({"prompt_filter_results": []}, id="C083-no-choices"),
        pytest.param({"choices": [{"index": 0, "delta": None, "finish_reason": None}]}, id="C082-delta-null"),
        pytest.param({"choices": [{"index": 0}]}, id="no-delta"),
    ],
)
def test_chunk_without_words_is_ignored(chunk: dict[str, Any]) -> None:
    assert parts_of(answer(chunk, delta(content="a"))) == [Text(text="a")]


def test_whole_message_in_a_frame_is_read_when_nothing_came_before() -> None:
    whole = {"choices": [{"index": 0, "message": {"content": "a"}, "finish_reason": "stop"}]}
    assert parts_of(sse(whole) + DONE) == [Text(text="a")]
    assert parts_of(sse(delta(content="a"), whole) + DONE) == [Text(text="a")]


def test_notes_are_told_once_and_bounded() -> None:
    odd = [delta(content=[{"type": f"t{i}"}, {"type": f"t{i}"}]) for i in range(25)]
    notes = closing_of(answer(*odd)).notes
    assert notes == tuple(f"a content part of type t{i} was skipped" for i in range(20))


# Limits


def test_frame_over_its_limit_is_a_fault() -> None:
    fault = fault_of(sse(delta(content="a" * 500)), max_frame_bytes=500)
    assert (fault.code, fault.retryable) == ("stream_too_large", False)


def test_stream_over_its_limit_is_a_fault_after_the_words_that_fit() -> None:
    one = sse(delta(content="a"))
    decoded = decode(one * 3, max_stream_bytes=len(one) * 2)
    assert decoded.parts == [Text(text="aa")]
    assert decoded.fault is not None
    assert decoded.fault.code == "stream_too_large"


def test_body_over_the_limit_of_a_frame_is_a_fault() -> None:
    body = json.dumps({"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}).encode()
    assert decode(body, max_frame_bytes=len(body)).parts == [Text(text="a")]
    fault = fault_of(body, max_frame_bytes=len(body) - 1)
    assert (fault.code, fault.retryable) == ("stream_too_large", False)
    assert fault.message == f"the endpoint sent a body of more than {len(body) - 1} bytes"


# Bodies that are no stream


@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b" \n", b"\xef\xbb\xbf\r\n  "])
def test_plain_completion_is_one_answer_with_a_note(before: bytes) -> None:
    body = {
        "model": "m1",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "a\x00",
                    "reasoning": "r",
                    "tool_calls": [piece("{}", name="f", id="c")],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": USAGE,
    }
    decoded = decode(before + json.dumps(body, indent=1).encode(), content_type="application/json")
    assert decoded.parts == [
        Reasoning(text="r"),
        Text(text="a\ufffd"),
        ToolCall(id="c", name="f", arguments="{}"),
    ]
    assert decoded.closing == Closing(
        finish_reason="tool_calls",
        model="m1",
        usage=Usage(model="m1", prompt_tokens=9, completion_tokens=3),
        notes=("the endpoint answered at once, without streaming",),
    )


def test_plain_completion_without_finish_reason_is_complete_and_noted() -> None:
    closing = closing_of(b'{"choices": [{"message": {"content": "a"}}]}')
    assert closing.finish_reason == "unknown"
    assert "the stream ended without a finish_reason" in closing.notes


@pytest.mark.parametrize("start", [b"<html><body>Login", b"\n\n <!DOCTYPE html>", b"\xef\xbb\xbf<html>"])
def test_page_is_not_a_stream_and_its_content_type_is_named(start: bytes) -> None:
    """C067."""
    fault = fault_of(start, content_type="text/html; charset=utf-8")
    assert (fault.code, fault.retryable) == ("not_a_stream", False)
    assert "text/html; charset=utf-8" in fault.message
    assert "Login" not in fault.message


def test_page_is_told_from_its_first_character() -> None:
    with pytest.raises(InferenceFault):
        ChatDecoder("m").feed(b"<")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"object": "list", "data": []}', '{"object":"list","data":[]}'),
        (b'{"message": "Not found"}', "Not found"),
        (b'{"choices": []}', '{"choices":[]}'),
        (b'{"choices": {"0": 1}}', None),
        (b'{"choices": [5]}', None),
        (b'{"choices": [{"message": "a"}]}', None),
        (b'{"choices": [{"delta": {"content": "a"}}]}', None),
        (b'{"a": 1}\n{"b": 2}\n', ""),
        (b"{oops", ""),
        (b'[{"a": 1}]', ""),
        (b"Internal error\n", "Internal error"),
        (b"Internal error", "Internal error"),
        (b"x" * 201 + b"\xff\n\n", "x" * 200),
        (b'"a"', '"a"'),
    ],
)
def test_other_bodies_are_not_a_stream(body: bytes, text: str | None) -> None:
    fault = fault_of(body, content_type="application/json")
    assert (fault.code, fault.retryable) == ("not_a_stream", False)
    told = (
        "the endpoint answered with application/json instead of a chat-completions stream; check its address"
    )
    assert fault.message.startswith(told)
    if text is not None:
        assert fault.message == told + (f": {text}" if text else "")


def test_error_in_a_plain_body_is_the_providers() -> None:
    fault = fault_of(b'{"error": {"message": "no credit", "code": 402}}')
    assert (fault.code, fault.status, fault.retryable) == ("provider_error", 402, False)
    assert fault.message == "the provider reported an error: no credit"


@pytest.mark.parametrize("blank", [1022, 1023, 1024, 1025, 3000])
def test_white_space_before_a_body_is_read_only_so_far(blank: int) -> None:
    body = b" " * blank + b'{"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}'
    decoded = decode(body)
    assert (decoded.fault is None) is (blank < 1024)


def test_stream_after_blank_lines_is_read() -> None:
    assert parts_of(b"\n" * 3000 + answer(delta(content="a"))) == [Text(text="a")]
    assert parts_of(b"\xef\xbb\xbf" + answer(delta(content="a"))) == [Text(text="a")]
