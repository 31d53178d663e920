import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.sdk import frames
from parley.sdk.errors import StreamBroken
from parley.sdk.frames import LONGEST_MESSAGE, FrameReader, Message

TOLD = [Message("1", "one"), Message("1:3", "déjà vu"), Message("2", "two\nlines")]
STREAM = "id: 1\ndata: one\n\n: ping\n\nid: 1:3\ndata: déjà vu\n\nevent: x\nid: 2\ndata: two\ndata: lines\n\n"


def read(stream: bytes, *cuts: int) -> list[Message]:
    reader = FrameReader()
    places = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    parts = [stream[a:b] for a, b in itertools.pairwise(places)]
    return [message for part in parts for message in reader.feed(part)]


@given(cuts=st.lists(st.integers(0, 200), max_size=8), end=st.sampled_from(["\n", "\r\n"]))
def test_messages_are_the_same_however_the_bytes_are_cut(cuts: list[int], end: str) -> None:
    assert read(STREAM.replace("\n", end).encode(), *cuts) == TOLD


def test_a_lone_carriage_return_ends_a_line() -> None:
    assert read(STREAM.replace("\n", "\r").encode() + b":") == TOLD


def test_unicode_line_separators_are_text() -> None:
    assert read("data: a\u2028b\u0085c\n\n".encode()) == [Message("", "a\u2028b\u0085c")]


def test_an_unfinished_message_is_not_told() -> None:
    assert read(b"id: 1\ndata: whole\n\ndata: ha") == [Message("1", "whole")]


def test_a_message_without_a_space_or_a_value_is_read() -> None:
    assert read(b"data:x\ndata\n\n") == [Message("", "x")] or read(b"data:x\ndata:\n\n") == [
        Message("", "x\n")
    ]


def test_a_message_without_end_is_given_up() -> None:
    reader = FrameReader()
    line = b"data: " + b"x" * (LONGEST_MESSAGE // 2) + b"\n"
    assert list(reader.feed(line)) == []
    with pytest.raises(StreamBroken):
        list(reader.feed(line + b"x"))


def test_an_id_that_no_header_can_take_back_is_not_kept() -> None:
    for odd in ("é", "a b", "\x1b", "a" * 201):
        assert read(f"id: 7\nid: {odd}\ndata: x\n\n".encode()) == [Message("7", "x")]


def test_a_long_line_in_small_pieces_is_read_in_one_pass() -> None:
    # In squares of its length this would take minutes.
    reader, piece = FrameReader(), b"x" * 100
    messages = [*reader.feed(b"data: ")]
    for _ in range(100_000):
        messages += reader.feed(piece)
    messages += reader.feed(b"\n\n")
    assert [len(message.data) for message in messages] == [10_000_000]


def test_lines_without_a_word_are_counted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "LONGEST_MESSAGE", 1_000)
    reader = FrameReader()
    assert list(reader.feed(b"data\n" * 1_000)) == []
    with pytest.raises(StreamBroken, match="larger"):
        list(reader.feed(b"data\n"))
