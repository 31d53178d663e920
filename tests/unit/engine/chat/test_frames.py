"""Cutting a stream into frames, whatever ends its lines and wherever its bytes are cut."""

from __future__ import annotations

from itertools import chain, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.engine.chat.faults import InferenceFault
from parley.engine.chat.frames import Frame, FrameParser


def frames_of(*chunks: bytes) -> list[Frame]:
    parser = FrameParser()
    frames = [frame for chunk in chunks for frame in parser.feed(chunk)]
    last = parser.close()
    return [*frames, last] if last else frames


def payloads(*chunks: bytes) -> list[bytes]:
    return [frame.data for frame in frames_of(*chunks)]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        pytest.param(b"data: a\n\ndata: b\n\n", [b"a", b"b"], id="lf"),
        pytest.param(b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"], id="C076-crlf"),
        pytest.param(b"data: a\r\rdata: b\r\r", [b"a", b"b"], id="C076-lone-cr"),
        pytest.param(b"data: a\n\r\ndata: b\r\n\n", [b"a", b"b"], id="mixed-ends"),
        pytest.param(b"data: a\r\ndata: b\r\n\r\n", [b"a\nb"], id="C076-crlf-between-data-lines"),
        pytest.param(b"data:a\n\n", [b"a"], id="C076-no-space"),
        pytest.param(b"data:  a\n\n", [b" a"], id="only-one-space-belongs-to-the-field"),
        pytest.param(b": ping\n\n:\n\ndata: a\n: ping\n\n", [b"a"], id="C073-comments"),
        pytest.param(b"data: a\ndata: b\n\n", [b"a\nb"], id="several-data-lines"),
        pytest.param(b"data: a\ndata\ndata:\n\n", [b"a\n\n"], id="data-lines-without-a-value"),
        pytest.param(b"id: 1\nretry: 5\nfoo: bar\n\ndata: a\n\n", [b"a"], id="other-fields"),
        pytest.param(b"\n\n\ndata: a\n\n\n\n", [b"a"], id="many-blank-lines"),
        pytest.param(b"\xef\xbb\xbfdata: a\n\n", [b"a"], id="byte-order-mark"),
        pytest.param(b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [b"a"], id="later-byte-order-mark-is-no-mark"),
        pytest.param(b"data: a:b\n\n", [b"a:b"], id="colon-in-the-value"),
        pytest.param(b"data: a\n\ndata: b", [b"a", b"b"], id="no-end-of-line-at-the-end"),
        pytest.param(b"data: a\n\ndata: b\n", [b"a", b"b"], id="no-blank-line-at-the-end"),
        pytest.param(b"database: a\n\n", [], id="longer-field-name-is-another-field"),
        pytest.param(b"", [], id="nothing"),
    ],
)
def test_stream_gives_its_payloads_whole_and_byte_by_byte(stream: bytes, expected: list[bytes]) -> None:
    assert payloads(stream) == expected
    assert payloads(*(stream[i : i + 1] for i in range(len(stream)))) == expected
    for cut in range(len(stream)):
        assert payloads(stream[:cut], b"", stream[cut:]) == expected


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c"])
def test_only_lf_and_cr_end_a_line(character: str) -> None:
    """C078."""
    assert payloads(f"data: a{character}b\n\n".encode()) == [f"a{character}b".encode()]


def test_event_name_belongs_to_its_frame_alone() -> None:
    assert frames_of(b"event: error\ndata: a\n\ndata: b\n\nevent:ping\n\nevent: last") == [
        Frame(b"a", b"error"),
        Frame(b"b", b""),
        Frame(b"", b"ping"),
        Frame(b"", b"last"),
    ]


def test_frames_are_given_as_soon_as_their_blank_line_came() -> None:
    parser = FrameParser()
    assert list(parser.feed(b"data: a\n")) == []
    assert list(parser.feed(b"\ndata: b")) == [Frame(b"a")]
    assert list(parser.feed(b"c\n\n")) == [Frame(b"bc")]
    assert parser.close() is None


def test_lf_that_comes_after_its_cr_ends_no_second_line() -> None:
    parser = FrameParser()
    assert list(parser.feed(b"data: a\r")) == []
    assert list(parser.feed(b"\ndata: b\r")) == []
    assert list(parser.feed(b"\r")) == [Frame(b"a\nb")]
    assert list(parser.feed(b"\n\n")) == []
    assert list(parser.feed(b"data: c\n\n")) == [Frame(b"c")]


def test_lf_that_comes_later_than_right_after_its_cr_ends_a_line() -> None:
    parser = FrameParser()
    assert list(parser.feed(b"data: a\r")) == []
    assert list(parser.feed(b"data: b")) == []
    assert list(parser.feed(b"\n")) == []
    assert list(parser.feed(b"\n")) == [Frame(b"a\nb")]


@pytest.mark.parametrize(
    ("stream", "stranger"),
    [
        (b"Internal error\nmore\n\n", b"Internal error"),
        (b"message: no\n", b"message: no"),
        (b"Internal error", b"Internal error"),
        (b": ping\nid: 1\nretry: 1\nevent: x\ndata: y\n\n", None),
        (b"dat", None),
        (b"\n\n", None),
    ],
)
def test_first_line_that_is_no_field_is_remembered(stream: bytes, stranger: bytes | None) -> None:
    parser = FrameParser()
    list(parser.feed(stream))
    parser.close()
    assert parser.stranger == stranger


def test_frame_as_large_as_the_limit_passes_and_frees_its_room() -> None:
    stream = b"data: 1234\n\n" * 2
    for size in (len(stream), 1, 10):
        parser = FrameParser(max_frame_bytes=10)
        chunks = (stream[start : start + size] for start in range(0, len(stream), size))
        assert list(chain.from_iterable(map(parser.feed, chunks))) == [Frame(b"1234"), Frame(b"1234")]


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(b"data: 12345\n\n", id="one-line"),
        pytest.param(b"data: 12345", id="line-without-end"),
        pytest.param(b"data:\ndata: 1\n\n", id="several-lines"),
        pytest.param(b"data:\ndata: 1", id="several-lines-without-end"),
        pytest.param(b": 123456789\n\n", id="comment"),
    ],
)
def test_frame_over_the_limit_is_a_fault_however_it_is_cut(stream: bytes) -> None:
    for size in (len(stream), 1):
        parser = FrameParser(max_frame_bytes=10)
        chunks = (stream[start : start + size] for start in range(0, len(stream), size))
        with pytest.raises(
            InferenceFault, match=r"^the endpoint sent a frame of more than 10 bytes$"
        ) as caught:
            list(chain.from_iterable(map(parser.feed, chunks)))
        assert (caught.value.code, caught.value.retryable) == ("stream_too_large", False)


def test_many_comments_do_not_fill_a_frame() -> None:
    parser = FrameParser(max_frame_bytes=10)
    assert list(parser.feed(b": ping\n" * 50 + b"data: a\n\n")) == [Frame(b"a")]


def test_stream_over_the_limit_is_a_fault_after_the_frames_that_fit() -> None:
    parser = FrameParser(max_stream_bytes=18)
    frames = parser.feed(b"data: a\n\n" * 3)
    assert [next(frames), next(frames)] == [Frame(b"a"), Frame(b"a")]
    with pytest.raises(InferenceFault, match=r"^the endpoint sent a stream of more than 18 bytes$") as caught:
        next(frames)
    assert (caught.value.code, caught.value.retryable) == ("stream_too_large", False)


def test_stream_as_large_as_the_limit_passes() -> None:
    parser = FrameParser(max_stream_bytes=18)
    assert len(list(parser.feed(b"data: a\n\n"))) == 1
    assert len(list(parser.feed(b"data: a\n\n"))) == 1
    assert list(parser.feed(b"")) == []
    with pytest.raises(InferenceFault):
        list(parser.feed(b"\n"))


LINES = st.lists(
    st.sampled_from(
        [b"data: a", b"data:b", b"data", b"", b"", b": c", b"event: error", b"id: 1", b"x", b"\xef\xbb\xbf"]
    )
    | st.binary(max_size=6)
)


@given(lines=LINES, end=st.sampled_from([b"\n", b"\r\n", b"\r"]), cuts=st.lists(st.integers(0, 80)))
def test_any_cut_gives_the_frames_of_the_whole(lines: list[bytes], end: bytes, cuts: list[int]) -> None:
    stream = end.join(lines)
    bounds = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    chunks = [stream[start:stop] for start, stop in pairwise(bounds)]
    assert frames_of(*chunks) == frames_of(stream)


SCRAPS = st.lists(
    st.sampled_from(
        [
            b"data: a\n\n",
            b"data: b c\n\n",
            b"data: \n\n",
            b"data:d\n\n",
            b"data: e\n",
            b"\n",
            b"\r\n",
            b": p\n\n",
            b"x",
        ]
    ),
    max_size=8,
).map(b"".join)


@given(SCRAPS, SCRAPS)
def test_way_around_the_line_parser_leads_to_the_same_payloads(before: bytes, data: bytes) -> None:
    short, long = FrameParser(), FrameParser()
    for parser in (short, long):
        list(parser.feed(before))
    found = short.payloads(data)
    told = [frame.data for frame in long.feed(data)]
    if found is None:
        told_after_all = [frame.data for frame in short.feed(data)]
        assert told_after_all == told, "nothing was taken"
    else:
        assert found == told
    assert short.close() == long.close()


def test_nearly_every_read_goes_around_the_line_parser() -> None:
    assert FrameParser().payloads(b"data: a\n\ndata: b\n\ndata: [DONE]\n\n") == [b"a", b"b", b"[DONE]"]


def test_whole_frames_beyond_the_bounds_are_left_to_the_line_parser() -> None:
    data = b"data: a\n\ndata: b\n\n"
    assert FrameParser(max_frame_bytes=len(data) - 1).payloads(data) is None
    parser = FrameParser(max_stream_bytes=2 * len(data) - 1)
    assert parser.payloads(data) == [b"a", b"b"]
    assert parser.payloads(data) is None, "bytes seen this way count too"
