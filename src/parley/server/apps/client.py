"""The route of one remote app: every call once, through the guard, bounded in time and size."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from aiohttp import ClientSession
from pydantic import ValidationError

from parley.engine.script.faults import SuiteInvalid
from parley.engine.script.protocol import (
    MAX_PAGE_BYTES,
    MAX_WAIT_S,
    AttemptRequest,
    AttemptState,
    EventPage,
    Manifest,
    RouteError,
    version_problem,
)
from parley.engine.script.reading import problems_of, read_suite
from parley.engine.script.wire import Wire
from parley.server.apps.faults import AppAway, AppFault, AppMisbehaved, AppRefused
from parley.server.kit import strictjson
from parley.server.outbound.errors import ConnectFailed, DeadlinePassed, OutboundFault
from parley.server.outbound.fetch import Answer, call_address

W = TypeVar("W", bound=Wire)

CALL_S: Final = 15.0
"""For one call, beyond the time it was asked to wait: a page of events may have megabytes."""
MAX_MANIFEST_BYTES: Final = 8_000_000
MAX_ANSWER_BYTES: Final = 64_000
MAX_RETRY_AFTER_S: Final = 60
FULL: Final = "full"
"""The code of an app that has no room; it took nothing in."""
_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses that mean: later."""
_MASK: Final = b"[service key]"
_MOST_TOLD: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class AppAddress:
    """Where an app is, and the key we show it."""

    url: str
    service_key: str = field(repr=False)


class AppClient:
    """Calls one app. Whatever it answers, an `AppFault` comes of it, or what was asked for."""

    def __init__(self, session: ClientSession, address: AppAddress, *, call_s: float = CALL_S) -> None:
        self._session = session
        self._call_s = call_s
        self._base = address.url.rstrip("/")
        self._key = address.service_key.encode()
        self._headers = {"Authorization": f"Bearer {address.service_key}", "User-Agent": "Parley-Evals/1"}

    async def manifest(self) -> Manifest:
        """What it offers. Raises `AppFault`."""
        answer = await self._call("GET", "/manifest", most_bytes=MAX_MANIFEST_BYTES)
        return await asyncio.to_thread(_manifest, answer)

    async def admit(self, request: AttemptRequest) -> AttemptState:
        """Have an attempt played; repeating it changes nothing. Raises `AppFault`."""
        body = strictjson.write(request.wire()).encode()
        answer = await self._call("POST", "/attempts", body=body)
        return _read(answer, AttemptState)

    async def events(self, attempt_id: str, cursor: int, wait_s: int) -> tuple[EventPage, int]:
        """Events after `cursor`, waited for up to `wait_s` seconds; and how many bytes they were.

        Raises `AppFault`.
        """
        path = f"/attempts/{attempt_id}/events?cursor={cursor}&wait={min(wait_s, MAX_WAIT_S)}"
        answer = await self._call("GET", path, most_bytes=MAX_PAGE_BYTES, waits_s=wait_s)
        return await asyncio.to_thread(_read, answer, EventPage), len(answer)

    async def cancel(self, attempt_id: str) -> AttemptState:
        """Have an attempt end early. Raises `AppFault`."""
        return _read(await self._call("DELETE", f"/attempts/{attempt_id}"), AttemptState)

    async def _call(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        most_bytes: int = MAX_ANSWER_BYTES,
        waits_s: float = 0.0,
    ) -> bytes:
        """The body of a good answer."""
        headers = self._headers if body is None else {**self._headers, "Content-Type": "application/json"}
        try:
            answer = await call_address(
                self._session,
                method,
                self._base + path,
                headers=headers,
                body=body,
                deadline_s=self._call_s + waits_s,
                max_body_bytes=most_bytes,
            )
            raw = answer.decoded(most_bytes + 1)
            # Whatever answers may repeat what it was sent, and its words are shown.
            raw = raw.replace(self._key, _MASK)
        except (ConnectFailed, DeadlinePassed) as fault:
            raise AppAway("app_unreachable", fault.message) from None
        except OutboundFault as fault:
            raise AppRefused("address_refused", fault.message) from None
        if answer.is_cut or len(raw) > most_bytes:
            raise AppMisbehaved(f"The app's answer is larger than {most_bytes:,} bytes.")
        if not 200 <= answer.status <= 299:
            raise _declined(answer, raw)
        return raw


def _declined(answer: Answer, raw: bytes) -> AppFault:
    """What a status other than success means."""
    told = _error_in(raw)
    if answer.status in _PASSING:
        code, message = (told.code, told.message) if told else _unnamed(answer.status)
        was_asked = told is None or told.code != FULL
        return AppAway(code, message, retry_after_s=_retry_after_s(answer), was_asked=was_asked)
    if told:
        return AppRefused(told.code, told.message)
    if answer.status == 404:
        # While an app is being deployed its route may be missing.
        return AppAway(*_unnamed(404), was_asked=False)
    if 300 <= answer.status <= 399:
        return AppMisbehaved(f"The app redirects (status {answer.status}); redirects are not followed.")
    return AppMisbehaved(_unnamed(answer.status)[1])


def _unnamed(status: int) -> tuple[str, str]:
    return "app_unreachable", f"Status {status} came, not from the route of an app: check address and mount."


def _error_in(raw: bytes) -> RouteError | None:
    if len(raw) > MAX_ANSWER_BYTES:  # no error of a route, and slow to read
        return None
    try:
        body = strictjson.read(raw)
        return RouteError.of_wire(body["error"]) if isinstance(body, dict) and "error" in body else None
    except (strictjson.UnreadableJsonError, ValidationError):
        return None


def _retry_after_s(answer: Answer) -> float | None:
    written = answer.headers.get("retry-after", "").strip()
    return float(min(int(written), MAX_RETRY_AFTER_S)) if written.isdecimal() and len(written) < 10 else None


def _manifest(raw: bytes) -> Manifest:
    data = _json(raw)
    spoken = data.get("protocolVersion") if isinstance(data, dict) else None
    client = data.get("client") if isinstance(data, dict) else None
    version = client.get("version") if isinstance(client, dict) else None
    problem = version_problem(spoken, "app", version if isinstance(version, str) else "")
    if problem:
        raise AppRefused("protocol_unsupported", problem[:500])
    manifest = _shaped(data, Manifest)
    try:
        for offer in manifest.suites:
            read_suite(offer.suite.wire())
    except SuiteInvalid as invalid:
        told = "; ".join(map(str, invalid.problems[:_MOST_TOLD]))
        raise AppMisbehaved(f"The app offers a suite that cannot be played: {told}"[:1_000]) from None
    return manifest


def _read(raw: bytes, shape: type[W]) -> W:
    return _shaped(_json(raw), shape)


def _json(raw: bytes) -> Any:
    try:
        return strictjson.read(raw)
    except strictjson.UnreadableJsonError as fault:
        told = f"What the app answers {fault.problem}: it is no route of parley-evals."
        raise AppMisbehaved(told) from None


def _shaped(data: Any, shape: type[W]) -> W:
    try:
        return shape.of_wire(data)
    except ValidationError as error:
        told = "; ".join(str(problem) for problem in problems_of(error, shape)[:_MOST_TOLD])
        raise AppMisbehaved(f"The app answers otherwise than the protocol: {told}"[:1_000]) from None
