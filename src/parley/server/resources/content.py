"""What of an answer counts as the text of a resource. Pure."""

from __future__ import annotations

from parley.engine.blank import is_blank
from parley.engine.text import clean
from parley.server.outbound.errors import ConnectFailed
from parley.server.outbound.fetch import Answer
from parley.server.outbound.text import decoded_text, media_type_of

_TEXT_SUBTYPES = """
    csv ecmascript graphql javascript json jsonl markdown ndjson sql toml xml yaml
    x-markdown x-ndjson x-sh x-yaml
"""
TEXT_TYPES = frozenset(f"application/{name}" for name in _TEXT_SUBTYPES.split())
"""Types beside `text/*`, `+json`, `+xml` and `+yaml` whose bytes are text."""
TEXT_SUFFIXES = ("+json", "+xml", "+yaml")
ACCEPT = "text/*, application/json, application/xml, application/yaml;q=0.9, */*;q=0.1"


class NotText(Exception):
    """The answer is no text that can be used. `problem` is fit for the customer's eyes."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


def text_in(answer: Answer, max_bytes: int) -> str:
    """The text of a document of at most `max_bytes` unpacked bytes. Raises `NotText`."""
    _check_status(answer.status)
    content_type = answer.headers.get("content-type", "")
    _check_type(media_type_of(content_type))
    try:
        body = answer.decoded(max_bytes + 1)
    except ConnectFailed as fault:
        raise NotText(fault.message) from None
    if answer.is_cut or len(body) > max_bytes:
        raise NotText(f"It is larger than {max_bytes} bytes.")
    text = decoded_text(body, content_type)
    if "\x00" in text:
        raise NotText("It is not text, whatever its content type says.")
    if is_blank(text):
        raise NotText("It holds no text.")
    return clean(text)


def _check_status(status: int) -> None:
    if 300 <= status <= 399:
        raise NotText(f"The address answered with status {status}: redirects are not followed.")
    if not 200 <= status <= 299:
        raise NotText(f"The address answered with status {status}.")


def _check_type(media_type: str) -> None:
    if not media_type:
        raise NotText("The address did not say what type of content it sent.")
    if media_type.startswith("text/") or media_type in TEXT_TYPES or media_type.endswith(TEXT_SUFFIXES):
        return
    raise NotText(f"It is of the type {media_type[:100]}; only text can be read.")
