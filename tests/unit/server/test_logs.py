"""Nothing secret is logged."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Iterator

import pytest
import structlog

from parley.server.logs import REDACTED, configure_logs, logger, redacted

TOKEN = "sk-par-" + "Ab3" * 16 + "x"


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """What our logs write, with everything put back afterwards."""
    root = logging.getLogger()
    handlers, level, before = root.handlers[:], root.level, structlog.get_config()
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    configure_logs("debug", "json")
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.configure(**before)


@pytest.mark.parametrize(
    "text",
    [
        f"key {TOKEN} refused",
        f"Authorization: Bearer {TOKEN}",
        "authorization=Basic YW55OnNlY3JldA==",
        "GET /x?api-key=canary-value-12345&limit=5",
        "openai said: Incorrect API key sk-canary1234567890",
        "postgresql://user:canary-password@db.example/x",
        "redis://:canary-password@cache.example:6379/0",
    ],
)
def test_secret_texts_are_taken_out(text: str) -> None:
    cleaned = redacted(text)
    assert REDACTED in cleaned
    for secret in (TOKEN, "canary", "YW55"):
        assert secret not in cleaned


@pytest.mark.parametrize(
    "text", ["3 tokens used", "the basic idea", "https://a.example/v1?limit=5", "task-par"]
)
def test_plain_texts_are_left_alone(text: str) -> None:
    assert redacted(text) == text


def test_line_is_json_and_fields_are_cleaned(written: io.StringIO) -> None:
    logger("room").info(
        "called",
        api_key="canary",
        headers={"Authorization": "canary", "X-Api-Key": "canary", "Accept": "x"},
        urls=[f"http://a.example/?api-key={TOKEN}"],
        prompt_tokens=7,
        nested={"a": {"password": "canary"}},
    )
    line = json.loads(written.getvalue())
    assert (line["event"], line["level"], line["logger"], line["prompt_tokens"]) == (
        "called",
        "info",
        "room",
        7,
    )
    assert line["headers"]["Accept"] == "x"
    assert "canary" not in written.getvalue()
    assert TOKEN not in written.getvalue()


def test_libraries_and_tracebacks_go_the_same_way(written: io.StringIO) -> None:
    logging.getLogger("library").warning("calling %s", f"https://x.example/?api-key={TOKEN}")
    try:
        raise RuntimeError(f"refused {TOKEN}")
    except RuntimeError:
        logging.getLogger("library").exception("failed")
        logger("room").exception("failed")
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert [line["level"] for line in lines] == ["warning", "error", "error"]
    assert "RuntimeError" in lines[1]["exception"]
    assert TOKEN not in written.getvalue()


def test_lines_of_libraries_tell_whose_they_are_too(written: io.StringIO) -> None:
    with structlog.contextvars.bound_contextvars(run_id="r-1", account_id="a-1", request_id="q-1"):
        logging.getLogger("library").warning("slow")
        logger("room").info("called")
    logging.getLogger("library").warning("later")
    first, second, later = [json.loads(line) for line in written.getvalue().splitlines()]
    for line in (first, second):
        assert (line["run_id"], line["account_id"], line["request_id"]) == ("r-1", "a-1", "q-1")
    assert "run_id" not in later
