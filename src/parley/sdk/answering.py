"""From a response to its meaning: the value of a call, or the error it stands for. Pure."""

from __future__ import annotations

import json
import time
from typing import Any, TypeVar

import httpx
from pydantic import ValidationError

from parley.sdk.call import Call
from parley.sdk.errors import Refused, UnexpectedAnswer, kind_of
from parley.sdk.retries import retry_after_s

T = TypeVar("T")
_SHOWN = 200
"""Characters of a strange answer that are worth showing."""


def meaning(call: Call[T], response: httpx.Response) -> T:
    """What an answer says. Raises `Refused`, and `UnexpectedAnswer` when it is not the service's."""
    if not response.is_success:
        raise refusal(response)
    body = _json(response) if response.content else None
    try:
        return call.read(body)
    except (ValidationError, KeyError, TypeError) as error:
        raise UnexpectedAnswer(
            f"{_asked(response)} was answered in a shape that this release does not know; "
            "is the service newer or older than parley-evals here?"
        ) from error


def refusal(response: httpx.Response) -> Refused:
    """The error that a response stands for. Raises `UnexpectedAnswer` for JSON that is none."""
    body = _json(response) if "json" in response.headers.get("content-type", "") else {}
    told = body if isinstance(body, dict) else {}
    message = told.get("error") or f"{_asked(response)} was answered with {response.status_code}."
    return kind_of(response.status_code)(
        str(message),
        status=response.status_code,
        code=str(told.get("code", "")),
        details=told.get("details"),
        retry_after_s=asked_wait_s(response),
        request_id=response.headers.get("x-request-id", ""),
    )


def asked_wait_s(response: httpx.Response) -> float | None:
    """What `Retry-After` asks for."""
    return retry_after_s(response.headers.get("retry-after"), time.time())


def _json(response: httpx.Response) -> Any:
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError) as error:
        # Whatever charset it claims: Python has codecs that are none.
        text = response.content[: 4 * _SHOWN].decode("utf-8", "replace").strip()[:_SHOWN]
        raise UnexpectedAnswer(
            f"{_asked(response)} was answered with something other than JSON ({text!r}); "
            "is PARLEY_URL the address of the service?"
        ) from error


def _asked(response: httpx.Response) -> str:
    url = response.request.url
    return f"{response.request.method} {url.copy_with(query=None)}"
