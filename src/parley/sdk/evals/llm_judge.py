"""A judge from any OpenAI-compatible endpoint, asked by the rubric of the engine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any, Final

import httpx

from parley.engine.script.faults import JudgeFault
from parley.engine.script.grading import MAX_EVIDENCE_CHARS
from parley.engine.script.observation import Usage
from parley.engine.script.ports import Graded
from parley.engine.script.record import JudgeIdentity
from parley.engine.script.revision import digest
from parley.engine.script.rubric import RUBRIC_VERSION, GradeRequest, judge_messages
from parley.sdk.evals.errors import EvalsMisconfigured
from parley.sdk.patience import Patience
from parley.sdk.retries import RetryPolicy

KEY: Final = "PARLEY_JUDGE_API_KEY"
_FORMAT: Final = {"type": "json_object"}
_REFUSING_FORMAT: Final = (400, 422)


class LlmJudge:
    """Asks `model` at `base_url` (up to and including `/v1`). `options` go into every request.

    The key is `api_key`, else the variable PARLEY_JUDGE_API_KEY, else none. One client per event loop;
    `close` gives its connections back, which a run does at its end.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        options: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        max_evidence_chars: int = MAX_EVIDENCE_CHARS,
        retries: RetryPolicy | None = None,
    ) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise EvalsMisconfigured(
                f"The judge's address {base_url!r} has to begin with http:// or https://."
            )
        self.max_evidence_chars = max_evidence_chars
        self._url = base_url.rstrip("/").removesuffix("/chat/completions") + "/chat/completions"
        self._model = model
        self._options = {"temperature": 0, **(options or {})}
        self._headers = {**_authorization(api_key), **(headers or {})}
        self._patience = Patience(retries or RetryPolicy(retries=2))
        self._takes_format = True
        self._client: tuple[asyncio.AbstractEventLoop, httpx.AsyncClient] | None = None
        facts = {"url": self._url, "model": model, "options": dict(self._options), "rubric": RUBRIC_VERSION}
        self.identity = JudgeIdentity(id=model, version_hash=digest(facts), location="app")

    async def grade(self, request: GradeRequest, problem: str | None) -> Graded:
        """The llm's reply. Raises `JudgeFault`."""
        lines = [message.wire() for message in judge_messages(request, problem)]
        body = {**self._options, "model": self._model, "messages": lines}
        response = await self._send({**body, "response_format": _FORMAT} if self._takes_format else body)
        if response.status_code in _REFUSING_FORMAT and self._takes_format:
            # Some endpoints know no response_format: the prompt says the same, so it is left out from now on.
            response = await self._send(body)
            self._takes_format = not response.is_success
        return _graded(response)

    async def close(self) -> None:
        """Give the connections back."""
        held, self._client = self._client, None
        if held and held[0] is asyncio.get_running_loop():
            await held[1].aclose()

    async def _send(self, body: Mapping[str, Any]) -> httpx.Response:
        retry = 0
        while True:
            retry += 1
            try:
                response = await self._http().post(self._url, json=body)
            except httpx.TransportError as error:
                wait_s = self._patience.after_break(error, retry, is_repeatable=True)
                if wait_s is None:
                    told = f"The judge at {self._url} cannot be reached: {type(error).__name__}."
                    raise JudgeFault("judge_unreachable", told) from error
            else:
                wait_s = self._patience.after_answer(response, retry, is_repeatable=True)
                if wait_s is None:
                    return response
            await asyncio.sleep(wait_s)

    def _http(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        if self._client is None or self._client[0] is not loop:
            # The engine's own deadline ends a call; a client's would only hide which one it was.
            timeout = httpx.Timeout(None, connect=10.0)
            self._client = (loop, httpx.AsyncClient(headers=self._headers, timeout=timeout))
        return self._client[1]


def _authorization(api_key: str | None) -> dict[str, str]:
    key = api_key or os.environ.get(KEY, "")
    return {"Authorization": f"Bearer {key}"} if key else {}


def _graded(response: httpx.Response) -> Graded:
    if not response.is_success:
        told = f"The judge's endpoint answered with status {response.status_code}."
        raise JudgeFault("judge_http_error", told)
    try:
        body = response.json()
        message = body["choices"][0]["message"]
    except (ValueError, LookupError, TypeError):
        raise JudgeFault("judge_malformed", "The judge's endpoint answered with something else.") from None
    return Graded(answer=_text(message), usage=_usage(body))


def _text(message: Any) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, str) else ""


def _usage(body: dict[str, Any]) -> Usage | None:
    """What the endpoint says; None, unknown, where it says nothing."""
    told = body.get("usage")
    if not isinstance(told, dict):
        return None
    counts = {name: told.get(f"{name}_tokens") for name in ("prompt", "completion")}
    known = {name: count for name, count in counts.items() if isinstance(count, int) and count >= 0}
    model = body.get("model")
    return Usage(
        model=model if isinstance(model, str) else None,
        prompt_tokens=known.get("prompt"),
        completion_tokens=known.get("completion"),
    )
