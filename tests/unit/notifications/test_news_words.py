"""Notifications in words: on a phone, in a chat, in a mail's head."""

from __future__ import annotations

from datetime import UTC, datetime
from email import message_from_bytes
from email import policy as email_policy
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.server.kit import strictjson
from parley.server.notifications.facts import AboutError, AboutRun, AboutTest, Facts, NewsKind
from parley.server.notifications.mail import composed
from parley.server.notifications.webhook import News, json_body, slack_body
from parley.server.notifications.words import Message, one_line, slack_text, worded

AT = datetime(2027, 1, 31, 12, 5, tzinfo=UTC)
TEST_ID = UUID("01a22cd1-1c69-7435-8e3a-8a2be0d79950")
RUN_ID = UUID("01a22cd1-1c69-7435-8e3a-8a2be0d79951")
HOSTILE = "<!channel> *x* & @here\r\nBcc: all@evil.example\n\n\u202eabc\x00"


def facts(name: str = "Refund", message: str = "The gateway answered 502.", **fields: Any) -> Facts:
    run = AboutRun(
        id=RUN_ID,
        state="failed",
        outcome=None,
        finished_at=AT,
        error=AboutError(code="gateway_inference", message=message),
    )
    known: dict[str, Any] = {"run": run, "failures": 3, "since": AT, **fields}
    return Facts(account="Acme", test=AboutTest(id=TEST_ID, name=name), **known)


def carried_out(outcome: str) -> AboutRun:
    return AboutRun(id=RUN_ID, state="succeeded", outcome=outcome, finished_at=AT, error=None)


TITLES: list[tuple[NewsKind, Facts, str]] = [
    ("test.failing", facts(failures=1), "Refund: a run failed, 31 Jan 2027 12:05 UTC"),
    ("test.failing", facts(), "Refund: 3 runs in a row failed, since 31 Jan 2027 12:05 UTC"),
    (
        "test.recovered",
        facts(run=carried_out("loss")),
        "Refund: runs again; 3 runs had failed since 31 Jan 2027 12:05 UTC",
    ),
    (
        "behaviour.lost",
        facts(run=carried_out("loss"), previous_outcome="success"),
        "Refund: was success, now loss, since 31 Jan 2027 12:05 UTC",
    ),
    (
        "behaviour.regained",
        facts(run=carried_out("success"), previous_outcome="incomplete"),
        "Refund: success again; was incomplete, first told 31 Jan 2027 12:05 UTC",
    ),
    ("channel.test", Facts(account="Acme"), "Parley: this is a test message"),
]


@pytest.mark.parametrize(("kind", "about", "title"), TITLES, ids=lambda value: str(value)[:30])
def test_title_tells_test_event_and_time(kind: NewsKind, about: Facts, title: str) -> None:
    assert worded(kind, about, "").title == title


def test_lines_tell_why_whose_and_where() -> None:
    message = worded("test.failing", facts(), "https://parley.example/")
    assert message.text.splitlines() == [
        "Refund: 3 runs in a row failed, since 31 Jan 2027 12:05 UTC",
        "Why: The gateway answered 502. (gateway_inference)",
        "Account: Acme",
        f"https://parley.example/tests/{TEST_ID}/runs/{RUN_ID}",
    ]


def test_no_link_without_a_public_address() -> None:
    assert worded("test.failing", facts(), "").url is None
    assert worded("channel.test", Facts(account="Acme"), "https://parley.example").url is None


def test_long_names_and_reasons_leave_the_message_short() -> None:
    message = worded("test.failing", facts(name="x" * 200, message="y" * 5_000), "")
    assert len(message.title) < 130
    assert "failed, since" in message.title
    assert len(message.text) < 600


@given(st.text(), st.integers(1, 100))
def test_one_line_is_one_bounded_line(text: str, most: int) -> None:
    line = one_line(text, most)
    assert len(line) <= most
    assert len(line.splitlines()) <= 1
    assert not set("\x00\r\n\u202e\u2066") & set(line)
    assert one_line(line, most) == line


def test_chat_is_sent_no_markup_and_calls_nobody() -> None:
    text = slack_text(worded("test.failing", facts(name=HOSTILE, message=HOSTILE), ""))
    assert "<" not in text
    assert ">" not in text
    assert "&lt;!channel&gt; *x* &amp; @\u200bhere Bcc" in text
    assert "@here" not in text
    assert len(text.splitlines()) == 3


def news(about: Facts) -> News:
    message = worded("test.failing", about, "https://parley.example")
    return News(id=RUN_ID, kind="test.failing", facts=about, created_at=AT, message=message)


def test_slack_form_turns_formatting_off() -> None:
    body = slack_body(news(facts()))
    assert body.pop("text").startswith("Refund: 3 runs in a row failed")
    assert body == {"mrkdwn": False, "unfurl_links": False, "unfurl_media": False}


def test_json_form_holds_the_facts() -> None:
    body = strictjson.read(strictjson.write(json_body(news(facts()))).encode())
    assert (body["type"], body["timestamp"]) == ("test.failing", "2027-01-31T12:05:00.000Z")
    assert body["data"]["test"] == {"id": str(TEST_ID), "name": "Refund"}
    assert body["data"]["run"]["error"]["code"] == "gateway_inference"
    assert body["data"]["since"] == "2027-01-31T12:05:00.000Z"
    assert (body["data"]["failures"], body["data"]["account"]) == (3, "Acme")
    assert body["url"] in body["text"]


@pytest.mark.parametrize("kind", ["test.failing", "test.recovered", "behaviour.lost", "behaviour.regained"])
def test_facts_come_back_as_they_were_stored(kind: NewsKind) -> None:
    about = facts(run=carried_out("loss"), previous_outcome="success")
    assert Facts.model_validate(about.model_dump(mode="json")) == about
    assert worded(kind, about, "").title.startswith("Refund: ")


# Mail

SENDER = "alerts@parley.example"


def mail_of(message: Message, recipient: str = "ada@example.com") -> bytes:
    return composed(SENDER, recipient, message, RUN_ID, AT).as_bytes()


def test_mail_has_the_headers_of_a_machine() -> None:
    raw = mail_of(worded("test.failing", facts(name="R\u00fcckgabe"), ""))
    read = message_from_bytes(raw, policy=email_policy.default)
    assert read["From"] == "Parley <alerts@parley.example>"
    assert read["To"] == "ada@example.com"
    assert read["Subject"] == "R\u00fcckgabe: 3 runs in a row failed, since 31 Jan 2027 12:05 UTC"
    assert read["Message-ID"] == f"<{RUN_ID}@parley.example>"
    assert read["Auto-Submitted"] == "auto-generated"
    assert read["Date"].datetime == AT
    assert read.get_content_type() == "text/plain"
    assert "Why: The gateway answered 502." in read.get_content()


@given(st.text(min_size=1, max_size=200))
def test_no_name_makes_headers_of_its_own(name: str) -> None:
    raw = mail_of(worded("test.failing", facts(name=name, message=name), ""))
    head, _, _ = raw.partition(b"\r\n\r\n")
    named = [line.partition(b":")[0] for line in head.split(b"\r\n") if not line.startswith((b" ", b"\t"))]
    assert sorted(named) == sorted(
        b"From To Subject Date Message-ID Auto-Submitted Content-Type Content-Transfer-Encoding "
        b"MIME-Version".split()
    )
    raw.decode("ascii")


def test_hostile_name_stays_in_the_subject() -> None:
    read = message_from_bytes(
        mail_of(worded("test.failing", facts(name=HOSTILE), "")), policy=email_policy.default
    )
    assert read["Bcc"] is None
    assert "Bcc: all@evil.example" in read["Subject"]


@pytest.mark.parametrize(
    "address",
    ["", "ada", "@example.com", "ada@", "a b@example.com", "ada@example.com\r\nBcc: x@y", "a\x00@b.c"],
)
def test_text_that_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="plain e-mail address"):
        composed(SENDER, address, worded("channel.test", Facts(account="A"), ""), RUN_ID, AT)
