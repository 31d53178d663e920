"""Carries calls out, blocking."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, TypeVar

import httpx

from parley.sdk.answering import meaning, refusal
from parley.sdk.bounded import BoundedAnswer
from parley.sdk.call import Call
from parley.sdk.connection import Connection
from parley.sdk.errors import ServiceUnreachable, StreamBroken, UnexpectedAnswer
from parley.sdk.paging import Page, following
from parley.sdk.patience import Patience
from parley.sdk.requests import client_settings, request_of, stream_request
from parley.sdk.retries import RetryPolicy
from parley.sdk.unreachable import why
from parley.sdk.watching import Stream, Watch

if TYPE_CHECKING:
    from parley.sdk.events import Event

T = TypeVar("T")


class SyncDriver:
    """A connection to the service. Safe to share between threads."""

    def __init__(
        self,
        connection: Connection,
        *,
        timeout_s: float,
        retries: RetryPolicy,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.connection = connection
        self._patience = Patience(retries)
        self._http = httpx.Client(**client_settings(connection, timeout_s), transport=transport)

    def send(self, call: Call[T]) -> T:
        """The meaning of a call's answer. Raises `Refused`, `ServiceUnreachable`, `UnexpectedAnswer`."""
        retry = 0
        while True:
            retry += 1
            try:
                response = self._answer(request_of(self._http, call))
            except httpx.TransportError as error:
                wait_s = self._patience.after_break(error, retry, is_repeatable=call.is_repeatable)
                if wait_s is None:
                    raise ServiceUnreachable(why(error, self.connection)) from error
            else:
                wait_s = self._patience.after_answer(response, retry, is_repeatable=call.is_repeatable)
                if wait_s is None:
                    return meaning(call, response)
            time.sleep(wait_s)

    def pages(self, call: Call[Page[T]]) -> Iterator[T]:
        """Every item of a list, newest first, asked for page by page."""
        pending: Call[Page[T]] | None = call
        while pending is not None:
            page = self.send(pending)
            yield from page.items
            pending = following(pending, page)

    def stream(self, stream: Stream) -> Generator[Event, None, None]:
        """The events of a stream to its end, over a broken connection too.

        Raises `StreamBroken` when it cannot be read to the end.
        """
        watch = Watch(stream, self._patience.policy)
        while not watch.is_over:
            reason = "it ended before its last event"
            try:
                with contextlib.closing(self._open(stream, watch)) as events:
                    yield from events
            except httpx.TransportError as error:
                reason = why(error, self.connection)
            except httpx.DecodingError as error:
                raise StreamBroken(f"The stream cannot be unpacked: {error}.") from error
            if not watch.is_over:
                time.sleep(watch.broke(reason, random.random()))

    def close(self) -> None:
        """Give the connections back."""
        self._http.close()

    def _answer(self, request: httpx.Request) -> httpx.Response:
        with contextlib.closing(self._http.send(request, stream=True)) as response:
            return _whole(response)

    def _open(self, stream: Stream, watch: Watch) -> Generator[Event, None, None]:
        """One connection's part of the stream."""
        retry = 0
        while True:
            retry += 1
            response = self._http.send(stream_request(self._http, stream, watch), stream=True)
            with contextlib.closing(response):
                wait_s = self._patience.after_answer(response, retry, is_repeatable=stream.is_kept)
                if wait_s is None:
                    yield from _told(response, watch)
                    return
            time.sleep(wait_s)


def _whole(response: httpx.Response) -> httpx.Response:
    """Raises `UnexpectedAnswer` for a body that is too long or cannot be unpacked."""
    answer = BoundedAnswer(response)
    try:
        for chunk in response.iter_bytes():
            answer.add(chunk)
    except httpx.DecodingError as error:
        raise UnexpectedAnswer(f"The answer cannot be unpacked: {error}.") from error
    return answer.whole()


def _told(response: httpx.Response, watch: Watch) -> Iterator[Event]:
    if response.is_error:
        raise refusal(_whole(response))
    watch.opened()
    for chunk in response.iter_bytes():
        yield from watch.feed(chunk)
        if watch.is_over:
            return
