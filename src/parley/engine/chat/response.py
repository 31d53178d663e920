"""Answers that are not a stream, and what of a provider's own words a customer may read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

from pydantic_core import from_json

from parley.engine.chat.faults import FaultCode, InferenceFault
from parley.engine.chat.payload import read_json, write_json
from parley.engine.text import clean

MAX_MESSAGE_CHARS = 2_000
"""Length of a fault's message, a provider's words included (product contract)."""
MIN_SECRET_CHARS = 4
"""Shorter secrets are not masked: they would blot out ordinary words and hide nothing."""
MASK = "[hidden]"
MAX_EXCERPT_CHARS = 200
"""Enough to recognise what came; the rest of something unreadable helps nobody."""
_EXCERPT_READ_BYTES = 16 * 1024

_UNREADABLE = re.compile(r"[\x01-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_SECONDS = re.compile(r"[0-9]+(\.[0-9]+)?")
_RETRYABLE_4XX = (408, 409, 429)
_FINAL_ERRORS = frozenset(
    {
        "invalid_request_error",
        "authentication_error",
        "permission_error",
        "not_found_error",
        "insufficient_quota",
        "context_length_exceeded",
    }
)
"""Error types and codes that the same request meets again (the names the large providers use)."""
_MAX_DEPTH = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Disclosure:
    """What of a provider's words a fault may repeat: nothing, or all but the gateway's `secrets`."""

    secrets: tuple[str, ...] = ()
    shows_text: bool = True

    def message(self, ours: str, theirs: str = "") -> str:
        """Our sentence, then the provider's words: cleaned, secrets masked, and only then cut."""
        theirs = masked(_readable(theirs), self.secrets) if self.shows_text else ""
        whole = f"{ours}: {theirs}" if theirs else ours
        return whole if len(whole) <= MAX_MESSAGE_CHARS else whole[: MAX_MESSAGE_CHARS - 1] + "…"

    def excerpt(self, data: bytes) -> str:
        """The beginning of what was sent instead of the expected, masked before it is cut."""
        text = data[:_EXCERPT_READ_BYTES].decode(errors="replace")
        return masked(_readable(text), self.secrets)[:MAX_EXCERPT_CHARS]


FULL_DISCLOSURE = Disclosure()
"""Everything a provider says: no secrets are in play."""


def fault_of_response(
    status: int,
    headers: Mapping[str, str],
    body_prefix: bytes,
    content_type: str = "",
    *,
    disclosure: Disclosure = FULL_DISCLOSURE,
    now_s: float | None = None,
) -> InferenceFault:
    """The fault of an answer whose status is not 200.

    `body_prefix` is as much of the body as was read. `now_s` (epoch seconds) is wanted only for a
    `Retry-After` that is a date, in an answer without a `Date` of its own.
    """
    theirs = "" if _is_html(body_prefix, content_type) else _body_text(body_prefix)
    return InferenceFault(
        _code_of(status),
        disclosure.message(f"the endpoint answered with status {status}", theirs),
        retryable=is_retryable(status),
        status=status,
        retry_after_s=retry_after_s(headers, now_s),
    )


def provider_error(error: Any, disclosure: Disclosure) -> InferenceFault:
    """The fault of an error object, or of an error text, inside a stream."""
    status = _status_in(error)
    return InferenceFault(
        "provider_error",
        disclosure.message("the provider reported an error", error_text(error)),
        retryable=not _is_final(error) and (status is None or is_retryable(status)),
        status=status,
    )


def not_a_stream(content_type: str, disclosure: Disclosure, theirs: str = "") -> InferenceFault:
    """The fault of a successful answer that is something else: a page, a text, other JSON."""
    named = _readable(content_type)[:100] or "no content type"
    ours = f"the endpoint answered with {named} instead of a chat-completions stream; check its address"
    return InferenceFault("not_a_stream", disclosure.message(ours, theirs), retryable=False, status=200)


def is_retryable(status: int) -> bool:
    """Whether the same request may succeed later (product contract: 408, 409, 429, 5xx)."""
    return status in _RETRYABLE_4XX or 500 <= status <= 599


def retry_after_s(headers: Mapping[str, str], now_s: float | None = None) -> float | None:
    """The wait a provider asks for in `Retry-After`, as seconds or as a date; None without a usable one.

    A date is compared with the answer's own `Date`, so that no two clocks are mixed, else with `now_s`.
    """
    lowered = {name.lower(): value for name, value in headers.items()}
    value = lowered.get("retry-after", "").strip()
    if _SECONDS.fullmatch(value):
        seconds = float(value)
        return seconds if math.isfinite(seconds) else None
    until_s, from_s = _epoch_s(value), _epoch_s(lowered.get("date", ""))
    from_s = now_s if from_s is None else from_s
    if until_s is None or from_s is None or until_s < from_s:
        return None
    return until_s - from_s


def masked(text: str, secrets: Sequence[str]) -> str:
    """`text` without the secrets, also where they stand JSON-escaped, percent-encoded, or in part.

    A secret of several words (`Bearer abc`) is masked word by word too, its first word excepted.
    """
    forms = {form for secret in secrets for form in _forms(secret) if len(form) >= MIN_SECRET_CHARS}
    if not forms:
        return text
    longest_first = sorted(forms, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, longest_first)), MASK, text)


def error_text(error: Any, depth: int = 0) -> str:
    """The words in an error, from the shapes providers use; the JSON itself where none fits."""
    if depth == _MAX_DEPTH or error is None:
        return ""
    if isinstance(error, str):
        return error
    if isinstance(error, dict):
        for name in ("error", "message", "detail", "msg"):
            if text := error_text(error.get(name), depth + 1):
                return text
    if isinstance(error, list):
        return "; ".join(filter(None, (error_text(item, depth + 1) for item in error)))
    return "" if depth else _as_json(error)


def _as_json(value: Any) -> str:
    try:
        return write_json(value)
    except ValueError:
        return ""


def _code_of(status: int) -> FaultCode:
    if status == 429:
        return "rate_limited"
    if 400 <= status <= 499 and not is_retryable(status):
        return "request_refused"
    return "http_error"


def _is_html(body_prefix: bytes, content_type: str) -> bool:
    return "html" in content_type.lower() or body_prefix.lstrip().startswith(b"<")


def _body_text(body_prefix: bytes) -> str:
    for read in (read_json, _read_cut_json):
        with suppress(ValueError):
            return error_text(read(body_prefix))
    return body_prefix.decode(errors="replace")


def _read_cut_json(body_prefix: bytes) -> Any:
    return from_json(body_prefix, allow_partial="trailing-strings")


def _status_in(error: Any) -> int | None:
    for level in _levels(error):
        for name in ("code", "status", "status_code"):
            value = level.get(name)
            if isinstance(value, str) and re.fullmatch("[0-9]{3}", value):
                value = int(value)
            if isinstance(value, int) and 400 <= value <= 599:
                return value
    return None


def _is_final(error: Any) -> bool:
    named = [level.get(name) for level in _levels(error) for name in ("type", "code")]
    return any(isinstance(value, str) and value in _FINAL_ERRORS for value in named)


def _levels(error: Any) -> list[dict[str, Any]]:
    inner = error.get("error") if isinstance(error, dict) else None
    return [level for level in (inner, error) if isinstance(level, dict)]


def _readable(text: str) -> str:
    """One line of `text` without control, direction and invisible characters."""
    return " ".join(_UNREADABLE.sub(" ", clean(text)).split())


def _forms(secret: str) -> set[str]:
    words = secret.split()
    plain = {secret, " ".join(words), *words[1:]}
    return plain | {json.dumps(form)[1:-1] for form in plain} | {quote(form, safe="") for form in plain}


def _epoch_s(date: str) -> float | None:
    try:
        at = parsedate_to_datetime(date)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
