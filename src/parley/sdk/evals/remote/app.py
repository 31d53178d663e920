"""The ASGI app that `evals.asgi(...)` gives: mount it where you like; it needs no lifespan."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any
from urllib.parse import parse_qs

from pydantic import ValidationError

from parley.engine.script.protocol import (
    FULL_RETRY_AFTER_S,
    MAX_PAGE_BYTES,
    MAX_PAGE_EVENTS,
    MAX_REQUEST_BYTES,
    MAX_WAIT_S,
    PROTOCOL_VERSION,
    AttemptRequest,
    AttemptState,
    Capacity,
    version_problem,
)
from parley.engine.script.reading import problems_of
from parley.sdk.evals.clock import SystemClock
from parley.sdk.evals.remote.host import Host, HostTimes
from parley.sdk.evals.remote.http import (
    Declined,
    Gone,
    Receive,
    Scope,
    Send,
    header,
    read_json,
    send_declined,
    send_json,
)
from parley.sdk.evals.remote.keys import ServiceKeys
from parley.sdk.evals.remote.memory import MemoryStore
from parley.sdk.evals.remote.offer import Offer, Refusal
from parley.sdk.evals.remote.store import Admission, Store, StoredEvents

_LOG = logging.getLogger("parley.evals")
_UNKNOWN = Declined(404, "attempt_unknown", "The app knows no such attempt.")


class RemoteApp:
    """Discovery, admission, events and cancel, below wherever it is mounted.

    Everything begins with the first request. Call `aclose` when your app ends, so that running attempts are
    cleaned up; as an app of its own it does so by the lifespan of its server.
    """

    def __init__(
        self,
        offer: Offer,
        *,
        service_key: str | Sequence[str],
        store: Store | None = None,
        capacity: Capacity | None = None,
        times: HostTimes | None = None,
    ) -> None:
        self._offer = offer
        self._keys = ServiceKeys(service_key)
        self._store: Store = store or MemoryStore()
        self._capacity = capacity or Capacity()
        self._times = times or HostTimes()
        self._clock = SystemClock()
        self._opening = asyncio.Lock()
        self._host: Host | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one scope."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)
        else:
            raise RuntimeError(f"the remote route serves http, not {scope['type']}")

    async def aclose(self) -> None:
        """Stop playing: running attempts clean up and end as errors, queued ones stay in the store."""
        async with self._opening:
            host, self._host = self._host, None
            if host:
                await host.close()
                await self._store.close()

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            kind = (await receive())["type"]
            if kind == "lifespan.shutdown":
                await self.aclose()
            await send({"type": f"{kind}.complete"})
            if kind == "lifespan.shutdown":
                return

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if not self._keys.admit(header(scope, b"authorization")):
                raise Declined(401, "key_refused", "The service key is missing or wrong.")
            status, answer = await self._answer(scope, receive)
            await send_json(send, status, answer)
        except Declined as declined:
            await send_declined(send, declined)
        except Gone:
            return
        except Exception as error:
            # Its words may hold a connection's secrets, and the service may try again.
            _LOG.error("The remote route failed: %s", type(error).__name__)
            told = "The app failed to answer; its log says why."
            await send_declined(send, Declined(503, "app_failed", told, retry_after_s=1))

    async def _answer(self, scope: Scope, receive: Receive) -> tuple[int, Mapping[str, Any]]:
        # Only the end of the path counts: what comes before is where the app is mounted.
        method, path = scope["method"], scope["path"].rstrip("/").split("/")
        if "\x00" in scope["path"]:
            raise _UNKNOWN  # no id, and nothing that a database could be asked for
        host = await self._started()
        match (method, *path[-3:]):
            case ("GET", *_, "manifest"):
                return 200, self._manifest()
            case ("POST", *_, "attempts"):
                return 202, await self._admit(await read_json(receive, MAX_REQUEST_BYTES), host)
            case ("GET", "attempts", attempt_id, "events"):
                return 200, await self._events(attempt_id, scope, host)
            case ("DELETE", *_, "attempts", attempt_id):
                return 202, await self._cancel(attempt_id, host)
        raise Declined(404, "not_found", "There is no such route: manifest, attempts, attempts/{id}/events.")

    async def _started(self) -> Host:
        async with self._opening:
            if self._host is None:
                await self._store.open()
                self._host = Host(self._offer, self._store, self._capacity, self._times)
                self._host.start()
            return self._host

    def _manifest(self) -> Mapping[str, Any]:
        provenance = self._offer.provenance
        return {
            **self._offer.describe(),
            "protocolVersion": PROTOCOL_VERSION,
            "instance": self._store.instance,
            "client": {"name": "parley-evals", "version": version("parley-evals")},
            "capacity": self._capacity.wire(),
            "commit": provenance.commit,
            "appVersion": provenance.app_version,
        }

    async def _admit(self, body: Any, host: Host) -> Mapping[str, Any]:
        request = _request(body)
        if request.instance != self._store.instance:
            told = "The app does not remember the attempts of the manifest that was read: it was restarted, "
            told += "or several processes answer. A PostgresStore is shared and outlives a restart."
            raise Declined(409, "instance_changed", told)
        try:
            case = self._offer.plan_of(request).case
        except Refusal as refusal:
            raise Declined(422, refusal.error.code, refusal.error.message) from None
        admitted = await self._store.admit(
            Admission(
                attempt_id=request.attempt_id,
                order=request.wire(),
                lock=case.lock,
                replay_safe=case.replay_safe,
            ),
            most_open=self._capacity.concurrent + self._capacity.queued,
        )
        if admitted == "full":
            told = f"{self._capacity.concurrent:,} attempts run and {self._capacity.queued:,} wait already."
            raise Declined(503, "full", told, retry_after_s=FULL_RETRY_AFTER_S)
        if admitted == "differs":
            raise Declined(409, "attempt_differs", "The attempt is known, and was another one.")
        host.wake()
        return await self._state(request.attempt_id)

    async def _state(self, attempt_id: str) -> Mapping[str, Any]:
        stored = await self._read(attempt_id, 0, most=1)
        return AttemptState(attempt_id=attempt_id, state=stored.state).wire()

    async def _events(self, attempt_id: str, scope: Scope, host: Host) -> Mapping[str, Any]:
        cursor, wait_s = _asked(scope)
        until_s = self._clock.monotonic_s() + wait_s
        while True:
            news = host.news()
            stored = await self._read(attempt_id, cursor, most=MAX_PAGE_EVENTS)
            left_s = until_s - self._clock.monotonic_s()
            if stored.events or stored.state in ("done", "refused") or left_s <= 0:
                return _page(stored, cursor)
            await news.wait(left_s)

    async def _read(self, attempt_id: str, cursor: int, *, most: int) -> StoredEvents:
        stored = await self._store.read(attempt_id, cursor, most=most, max_bytes=MAX_PAGE_BYTES)
        if stored is None:
            raise _UNKNOWN
        return stored

    async def _cancel(self, attempt_id: str, host: Host) -> Mapping[str, Any]:
        state = await self._store.cancel(attempt_id)
        if state is None:
            raise _UNKNOWN
        host.cancel(attempt_id)
        host.wake()
        return AttemptState(attempt_id=attempt_id, state=state).wire()


def _request(body: Any) -> AttemptRequest:
    spoken = body.get("protocolVersion") if isinstance(body, dict) else None
    problem = version_problem(spoken, "service")
    if problem:
        raise Declined(400, "protocol_unsupported", problem)
    try:
        return AttemptRequest.of_wire(body)
    except ValidationError as error:
        told = "; ".join(map(str, problems_of(error, AttemptRequest)))
        raise Declined(400, "invalid_request", told[:1_000]) from None


def _asked(scope: Scope) -> tuple[int, float]:
    query = parse_qs(bytes(scope.get("query_string", b"")).decode("latin-1"))
    cursor, wait = query.get("cursor", ["0"])[-1], query.get("wait", ["0"])[-1]
    are_numbers = all(one.isdecimal() and len(one) < 10 for one in (cursor, wait))
    if not are_numbers or int(wait) > MAX_WAIT_S:
        told = f"`cursor` is a number from 0, `wait` seconds up to {MAX_WAIT_S}."
        raise Declined(400, "invalid_request", told)
    return int(cursor), float(wait)


def _page(stored: StoredEvents, cursor: int) -> Mapping[str, Any]:
    page: dict[str, Any] = {
        "events": [{"cursor": at, "event": event} for at, event in stored.events],
        "cursor": stored.events[-1][0] if stored.events else cursor,
        "state": stored.state,
    }
    return page if stored.error is None else {**page, "error": stored.error.wire()}
