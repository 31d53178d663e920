"""What holds for any stream: cuts make no difference, text can be stored, only typed faults are raised."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from parley.engine.chat.decoder import ChatDecoder
from parley.engine.chat.faults import InferenceFault
from parley.engine.chat.pieces import Closing, Piece
from parley.engine.messages import Part, Reasoning, Refusal, Text, ToolCall

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=4)
SCALARS = st.none() | st.booleans() | st.integers(-2, 12) | st.floats(allow_nan=False) | ANY_TEXT
ANY_JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)
IDS = st.sampled_from(["a", "b", "call_1", "", None])
CALLS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "index": st.sampled_from([0, 1, None, "0"]),
            "id": IDS,
            "function": st.fixed_dictionaries(
                {}, optional={"name": st.sampled_from(["f", "g", None]), "arguments": ANY_TEXT | ANY_JSON}
            ),
        },
    )
    | ANY_JSON,
    max_size=3,
)
DELTAS = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["assistant", "tool", None]),
        "content": ANY_TEXT | ANY_JSON,
        "reasoning": ANY_TEXT | ANY_JSON,
        "refusal": ANY_TEXT,
        "tool_calls": CALLS | ANY_JSON,
        "tool_call_id": IDS,
        "tool_results": st.lists(
            st.fixed_dictionaries({}, optional={"tool_call_id": IDS, "content": ANY_TEXT | ANY_JSON}),
            max_size=2,
        )
        | ANY_JSON,
    },
)
CHOICES = st.fixed_dictionaries(
    {},
    optional={
        "index": st.sampled_from([0, 0, 1, None]),
        "delta": DELTAS | st.none(),
        "message": DELTAS,
        "finish_reason": st.sampled_from([None, "", "stop", "odd\x00", 5]),
    },
)
CHUNKS = st.fixed_dictionaries(
    {},
    optional={
        "model": ANY_TEXT,
        "choices": st.lists(CHOICES, max_size=2) | ANY_JSON,
        "usage": st.dictionaries(
            st.sampled_from(["prompt_tokens", "completion_tokens", "cached_tokens"]), SCALARS
        )
        | ANY_JSON,
        "error": st.none() | ANY_JSON,
    },
)
SSE_LINES = (
    CHUNKS.map(lambda chunk: b"data: " + json.dumps(chunk).encode())
    | CHUNKS.map(lambda chunk: b"data:" + json.dumps(chunk, ensure_ascii=False).encode(errors="replace"))
    | st.sampled_from([b"data: [DONE]", b": ping", b"event: error", b"event: x", b"", b"\xef\xbb\xbf"])
    | st.binary(max_size=8)
)


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    end = draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
    lines = draw(st.lists(SSE_LINES, max_size=8))
    gap = draw(st.sampled_from([end * 2, end * 2, end]))
    return gap.join(lines) + draw(st.sampled_from([b"", end, end * 2]))


def cut(stream: bytes, at: list[int]) -> Iterator[bytes]:
    bounds = [0, *sorted(min(each, len(stream)) for each in at), len(stream)]
    for start, stop in pairwise(bounds):
        yield stream[start:stop]


def merged(pieces: list[Piece]) -> list[tuple[Any, ...]]:
    joined: list[tuple[Any, ...]] = []
    for piece in pieces:
        if not isinstance(piece, Text | Reasoning | Refusal):
            joined.append((piece,))
        elif joined and joined[-1][0] is type(piece):
            joined[-1] = (type(piece), joined[-1][1] + piece.text)
        else:
            joined.append((type(piece), piece.text))
    return joined


def decode(chunks: Iterable[bytes], **options: Any) -> tuple[list[Piece], InferenceFault | None]:
    decoder = ChatDecoder("m", **options)
    pieces: list[Piece] = []
    try:
        for chunk in chunks:
            pieces += decoder.feed(chunk)
        pieces += decoder.close()
    except InferenceFault as fault:
        return pieces, fault
    return pieces, None


def told(chunks: Iterable[bytes], **options: Any) -> tuple[Any, ...]:
    pieces, fault = decode(chunks, **options)
    return merged(pieces), fault and (fault.code, fault.message, fault.retryable, fault.status, fault.usage)


def texts_of(piece: Part | Closing) -> Iterator[str]:
    for name in piece.__slots__:
        value = getattr(piece, name)
        yield from [value] if isinstance(value, str) else value if isinstance(value, tuple) else []


@given(
    stream=streams() | st.binary(max_size=60),
    at=st.lists(st.integers(0, 400), max_size=12),
    max_stream_bytes=st.sampled_from([10_000, 10_000, 150]),
    max_frame_bytes=st.sampled_from([10_000, 10_000, 80]),
)
def test_any_cut_gives_what_the_whole_gives(
    stream: bytes, at: list[int], max_stream_bytes: int, max_frame_bytes: int
) -> None:
    limits = {"max_stream_bytes": max_stream_bytes, "max_frame_bytes": max_frame_bytes}
    whole = told([stream], **limits)
    assert told(cut(stream, at), **limits) == whole
    assert told((stream[i : i + 1] for i in range(len(stream))), **limits) == whole


@given(stream=streams() | st.binary())
def test_all_text_can_be_stored_and_the_closing_is_last(stream: bytes) -> None:
    pieces, fault = decode([stream])
    texts = [text for piece in pieces for text in texts_of(piece)]
    if fault is None:
        assert [isinstance(piece, Closing) for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    else:
        assert not any(isinstance(piece, Closing) for piece in pieces)
        texts.append(fault.message)
    for text in texts:
        text.encode()
        assert "\x00" not in text
    assert not any(piece.text == "" for piece in pieces if isinstance(piece, Text | Reasoning | Refusal))


@given(words=st.lists(ANY_TEXT), at=st.lists(st.integers(0, 2_000)))
def test_words_are_the_same_however_they_were_cut(words: list[str], at: list[int]) -> None:
    chunks: list[Any] = [{"choices": [{"delta": {"content": word}}]} for word in words]
    chunks.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    stream = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    pieces, fault = decode(cut(stream, at))
    assert fault is None
    said = "".join(piece.text for piece in pieces if isinstance(piece, Text))
    expected = "".join(words).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert said == expected.replace("\x00", "\ufffd")


@given(arguments=st.lists(st.text(max_size=5), min_size=1), has_index=st.booleans(), repeats=st.booleans())
def test_arguments_are_the_pieces_joined(arguments: list[str], has_index: bool, repeats: bool) -> None:
    stream = b""
    for number, text in enumerate(arguments):
        names = repeats or number == 0
        function = {"name": "f", "arguments": text} if names else {"arguments": text}
        piece = {
            "function": function,
            **({"id": "c"} if names else {}),
            **({"index": 0} if has_index else {}),
        }
        chunk = {"choices": [{"delta": {"tool_calls": [piece]}}]}
        stream += b"data: " + json.dumps(chunk).encode() + b"\n\n"
    pieces, fault = decode([stream + b"data: [DONE]\n\n"])
    assert fault is None
    assert pieces[0] == ToolCall(id="c", name="f", arguments="".join(arguments).replace("\x00", "\ufffd"))
