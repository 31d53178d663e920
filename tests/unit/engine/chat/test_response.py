"""Answers that are no stream, and what of a provider's words is repeated."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.engine.chat.response import (
    MASK,
    MAX_MESSAGE_CHARS,
    Disclosure,
    error_text,
    fault_of_response,
    masked,
    not_a_stream,
    provider_error,
    retry_after_s,
)


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (204, "http_error", False),
        (302, "http_error", False),
        (399, "http_error", False),
        (400, "request_refused", False),
        (401, "request_refused", False),
        (404, "request_refused", False),
        (408, "http_error", True),
        (409, "http_error", True),
        (422, "request_refused", False),
        (429, "rate_limited", True),
        (499, "request_refused", False),
        (500, "http_error", True),
        (503, "http_error", True),
        (599, "http_error", True),
        (600, "http_error", False),
    ],
)
def test_status_decides_code_and_whether_to_retry(status: int, code: str, retryable: bool) -> None:
    fault = fault_of_response(status, {}, b"")
    assert (fault.code, fault.retryable, fault.status) == (code, retryable, status)
    assert fault.message == f"the endpoint answered with status {status}"
    assert fault.retry_after_s is None


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"error": {"message": "bad key", "type": "x"}}', "bad key"),
        (b'{"error": "bad key"}', "bad key"),
        (b'{"detail": "bad key"}', "bad key"),
        (b'{"detail": [{"loc": ["body"], "msg": "one"}, {"msg": "two"}, {}]}', "one; two"),
        (b'{"message": "bad key"}', "bad key"),
        (b'{"error": {"code": 5, "message": null}, "message": "outer"}', "outer"),
        (b'[{"error": {"message": "bad key"}}]', "bad key"),
        (b'{"error": {"message": "bad key, cut he', "bad key, cut he"),
        (b'{"error": {"code": 7}}', '{"error":{"code":7}}'),
        (
            b'{"error": {"error": {"error": {"error": "deep"}}}}',
            '{"error":{"error":{"error":{"error":"deep"}}}}',
        ),
        (b"upstream is down", "upstream is down"),
        (b"upstream \xff down", "upstream \ufffd down"),
        (b'"bad key"', "bad key"),
        (b"7", "7"),
    ],
)
def test_provider_text_is_found_in_the_common_shapes(body: bytes, text: str) -> None:
    fault = fault_of_response(400, {}, body, "application/json")
    assert fault.message == f"the endpoint answered with status 400: {text}"


@pytest.mark.parametrize("body", [b"", b"null", b"  ", b"1e999"])
def test_body_without_words_adds_nothing(body: bytes) -> None:
    assert fault_of_response(500, {}, body).message == "the endpoint answered with status 500"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"<html><h1>Login</h1>", ""),
        (b"\n <!doctype html>", "text/plain"),
        (b"Login", "Text/HTML; charset=x"),
    ],
)
def test_page_is_not_repeated(body: bytes, content_type: str) -> None:
    assert fault_of_response(502, {}, body, content_type).message == "the endpoint answered with status 502"


@pytest.mark.parametrize(
    ("value", "expected_s"),
    [
        ("7", 7.0),
        (" 7 ", 7.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("86400", 86_400.0),
        ("-1", None),
        ("inf", None),
        ("nan", None),
        ("1e3", None),
        ("٣", None),
        ("9" * 400, None),
        ("soon", None),
        ("", None),
        ("7 seconds", None),
        ("Mon, 30 Nov 2026 10:00:30 GMT", 30.0),
        ("Mon, 30 Nov 2026 10:00:30 -0000", 30.0),
        ("Mon, 30 Nov 2026 12:00:30 +0200", 30.0),
        ("Mon, 30 Nov 2026 10:00:00 GMT", 0.0),
        ("Mon, 30 Nov 2026 09:59:59 GMT", None),
        ("Mon, 99 Nov 2026 09:59:59 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_garbage_is_ignored(
    value: str, expected_s: float | None
) -> None:
    headers = {"Retry-After": value, "Date": "Mon, 30 Nov 2026 10:00:00 GMT"}
    assert retry_after_s(headers) == expected_s
    assert fault_of_response(429, headers, b"").retry_after_s == expected_s


def test_retry_date_is_compared_with_our_clock_only_without_theirs() -> None:
    headers = {"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}
    assert retry_after_s(headers) is None
    assert retry_after_s(headers, now_s=40.0) == 60.0
    assert fault_of_response(503, headers, b"", now_s=40.0).retry_after_s == 60.0
    assert retry_after_s({**headers, "date": "Thu, 01 Jan 1970 00:00:10 GMT"}, now_s=40.0) == 90.0


def test_no_retry_after_is_no_wish() -> None:
    assert retry_after_s({"Date": "Mon, 30 Nov 2026 10:00:00 GMT"}, now_s=0.0) is None


@given(value=st.text(), date=st.text())
def test_any_retry_header_gives_a_finite_wait_or_none(value: str, date: str) -> None:
    waited_s = retry_after_s({"retry-after": value, "date": date}, now_s=0.0)
    assert waited_s is None or 0 <= waited_s < float("inf")


@pytest.mark.parametrize(
    "date", ["Mon, 01 Jan 0001 00:00:00 +2359", "Fri, 31 Dec 9999 23:59:59 -2359", "1 1 1 1"]
)
def test_dates_at_the_edge_of_the_calendar_do_not_raise(date: str) -> None:
    waited_s = retry_after_s({"retry-after": date}, now_s=0.0)
    assert waited_s is None or waited_s > 0


def test_text_is_one_line_without_control_and_direction_characters() -> None:
    fault = fault_of_response(400, {}, b'{"error": "a\\u0000b\\r\\nc\\u001b[1m\\u202ed\\u2028e\\ud800"}')
    assert fault.message == "the endpoint answered with status 400: a\ufffdb c [1m d e\ufffd"


def test_lone_surrogates_in_a_body_are_replaced() -> None:
    assert provider_error({"message": "a\ud800b"}, Disclosure()).message.endswith(": a\ufffdb")


def test_message_is_cut_at_its_limit_and_the_cut_is_visible() -> None:
    ours = "the endpoint answered with status 400: "
    fits = fault_of_response(400, {}, b"x" * (MAX_MESSAGE_CHARS - len(ours))).message
    assert len(fits) == MAX_MESSAGE_CHARS
    assert fits.endswith("x")
    cut = fault_of_response(400, {}, b"x" * (MAX_MESSAGE_CHARS - len(ours) + 1)).message
    assert len(cut) == MAX_MESSAGE_CHARS
    assert cut.endswith("x…")


def test_secret_at_the_cut_is_masked_before_it_is_cut() -> None:
    secret = "sk-0123456789"
    for filler in range(1940, 1975):
        body = b"x" * filler + secret.encode()
        message = fault_of_response(400, {}, body, disclosure=Disclosure(secrets=(secret,))).message
        assert "sk-0" not in message


def test_secret_hidden_by_a_control_character_is_masked() -> None:
    disclosure = Disclosure(secrets=("key  with two spaces",))
    assert disclosure.message("x", "bad key \t with two\nspaces!") == f"x: bad {MASK}!"


@pytest.mark.parametrize(
    ("text", "secrets", "expected"),
    [
        ("bad sk-abc", ["sk-abc"], f"bad {MASK}"),
        ("sk-abc sk-abc", ["sk-abc"], f"{MASK} {MASK}"),
        ("sk-abcdef", ["sk-abc", "sk-abcdef"], MASK),
        ("key token-123", ["Bearer token-123"], f"key {MASK}"),
        ("Bearer of news", ["Bearer token-123"], "Bearer of news"),
        (r"bad pa\"ss\\word", ['pa"ss\\word'], f"bad {MASK}"),
        ("bad p%2Fs%20x%3D", ["p/s x="], f"bad {MASK}"),
        ("bad a.c$x", ["a.c$x"], f"bad {MASK}"),
        ("abcdx", ["a.cd"], "abcdx"),
        ("one abcd", ["abcd"], f"one {MASK}"),
        ("one abc", ["abc"], "one abc"),
        ("nothing", [], "nothing"),
        ("nothing", [""], "nothing"),
        ("hidden hidden", ["hidden"], f"{MASK} {MASK}"),
    ],
)
def test_secrets_are_masked_in_every_form(text: str, secrets: list[str], expected: str) -> None:
    assert masked(text, secrets) == expected


def test_provider_words_are_kept_back_where_only_the_status_may_be_told() -> None:
    disclosure = Disclosure(shows_text=False)
    assert fault_of_response(500, {}, b"inner secret", disclosure=disclosure).message == (
        "the endpoint answered with status 500"
    )


@pytest.mark.parametrize(
    ("error", "retryable", "status"),
    [
        ("overloaded", True, None),
        ({"message": "x"}, True, None),
        ({"error": {"message": "x", "code": 503}}, True, 503),
        ({"error": {"message": "x", "code": "429"}}, True, 429),
        ({"message": "x", "status": 400}, False, 400),
        ({"message": "x", "status_code": 404}, False, 404),
        ({"message": "x", "code": 599}, True, 599),
        ({"message": "x", "code": 399}, True, None),
        ({"message": "x", "code": 600}, True, None),
        ({"message": "x", "code": "1429"}, True, None),
        ({"error": {"code": None, "status": 401}}, False, 401),
        ({"error": {"type": "invalid_request_error"}}, False, None),
        ({"error": {"code": "context_length_exceeded"}}, False, None),
        ({"error": {"type": "invalid_request_error", "code": 500}}, False, 500),
        ({"error": {"type": "server_error"}}, True, None),
        ({"error": {"type": ["invalid_request_error"]}}, True, None),
        ({"error": "x", "code": 400}, False, 400),
    ],
)
def test_error_in_a_stream_is_retried_unless_it_would_come_again(
    error: Any, retryable: bool, status: int | None
) -> None:
    fault = provider_error(error, Disclosure())
    assert (fault.code, fault.retryable, fault.status) == ("provider_error", retryable, status)


@pytest.mark.parametrize(
    "name",
    [
        "invalid_request_error",
        "authentication_error",
        "permission_error",
        "not_found_error",
        "insufficient_quota",
        "context_length_exceeded",
    ],
)
def test_error_the_same_request_meets_again_is_final(name: str) -> None:
    assert not provider_error({"error": {"type": name}}, Disclosure()).retryable
    assert not provider_error({"error": {"code": name}}, Disclosure()).retryable


def test_error_in_a_stream_repeats_the_providers_words() -> None:
    assert provider_error({"error": {"message": "too busy"}}, Disclosure()).message == (
        "the provider reported an error: too busy"
    )
    assert provider_error(None, Disclosure()).message == "the provider reported an error"


@pytest.mark.parametrize(
    ("content_type", "named"),
    [("text/html; charset=utf-8", "text/html; charset=utf-8"), ("", "no content type"), ("a\r\nb", "a b")],
)
def test_answer_that_is_no_stream_names_its_content_type(content_type: str, named: str) -> None:
    fault = not_a_stream(content_type, Disclosure())
    assert fault.message == (
        f"the endpoint answered with {named} instead of a chat-completions stream; check its address"
    )
    assert (fault.code, fault.retryable, fault.status) == ("not_a_stream", False, 200)


def test_long_content_type_is_cut() -> None:
    assert f"with {'x' * 100} instead" in not_a_stream("x" * 101, Disclosure()).message


def test_error_that_cannot_be_written_as_json_has_no_text() -> None:
    assert error_text({"code": float("inf")}) == ""


@given(
    status=st.integers(100, 999),
    body=st.binary(max_size=80),
    content_type=st.text(max_size=20),
)
def test_any_answer_gives_a_message_that_can_be_stored(status: int, body: bytes, content_type: str) -> None:
    message = fault_of_response(status, {}, body, content_type).message
    message.encode()
    assert not any(character < " " or "\x7f" <= character <= "\x9f" for character in message)
    assert len(message) <= MAX_MESSAGE_CHARS
