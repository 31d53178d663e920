"""Carries calls out within an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, AsyncIterator
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


class AsyncDriver:
    """A connection to the service, used within one event loop."""

    def __init__(
        self,
        connection: Connection,
        *,
        timeout_s: float,
        retries: RetryPolicy,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.connection = connection
        self._patience = Patience(retries)
        self._http = httpx.AsyncClient(**client_settings(connection, timeout_s), transport=transport)

    async def send(self, call: Call[T]) -> T:
        """The meaning of a call's answer. Raises `Refused`, `ServiceUnreachable`, `UnexpectedAnswer`."""
        retry = 0
        while True:
            retry += 1
            try:
                response = await self._answer(request_of(self._http, call))
            except httpx.TransportError as error:
                wait_s = self._patience.after_break(error, retry, is_repeatable=call.is_repeatable)
                if wait_s is None:
                    raise ServiceUnreachable(why(error, self.connection)) from error
            else:
                wait_s = self._patience.after_answer(response, retry, is_repeatable=call.is_repeatable)
                if wait_s is None:
                    return meaning(call, response)
            await asyncio.sleep(wait_s)

    async def pages(self, call: Call[Page[T]]) -> AsyncIterator[T]:
        """Every item of a list, newest first, asked for page by page."""
        pending: Call[Page[T]] | None = call
        while pending is not None:
            page = await self.send(pending)
            for item in page.items:
                yield item
            pending = following(pending, page)

    async def stream(self, stream: Stream) -> AsyncGenerator[Event, None]:
        """The events of a stream to its end, over a broken connection too.

        Raises `StreamBroken` when it cannot be read to the end.
        """
        watch = Watch(stream, self._patience.policy)
        while not watch.is_over:
            reason = "it ended before its last event"
            try:
                async with contextlib.aclosing(self._open(stream, watch)) as events:
                    async for event in events:
                        yield event
            except httpx.TransportError as error:
                reason = why(error, self.connection)
            except httpx.DecodingError as error:
                raise StreamBroken(f"The stream cannot be unpacked: {error}.") from error
            if not watch.is_over:
                await asyncio.sleep(watch.broke(reason, random.random()))

    async def close(self) -> None:
        """Give the connections back."""
        await self._http.aclose()

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        response = await self._http.send(request, stream=True)
        async with contextlib.aclosing(response):
            return await _whole(response)

    async def _open(self, stream: Stream, watch: Watch) -> AsyncGenerator[Event, None]:
        """One connection's part of the stream."""
        retry = 0
        while True:
            retry += 1
            response = await self._http.send(stream_request(self._http, stream, watch), stream=True)
            async with contextlib.aclosing(response):
                wait_s = self._patience.after_answer(response, retry, is_repeatable=stream.is_kept)
                if wait_s is None:
                    async with contextlib.aclosing(_told(response, watch)) as events:
                        async for event in events:
                            yield event
                    return
            await asyncio.sleep(wait_s)


async def _whole(response: httpx.Response) -> httpx.Response:
    """Raises `UnexpectedAnswer` for a body that is too long or cannot be unpacked."""
    answer = BoundedAnswer(response)
    try:
        async for chunk in response.aiter_bytes():
            answer.add(chunk)
    except httpx.DecodingError as error:
        raise UnexpectedAnswer(f"The answer cannot be unpacked: {error}.") from error
    return answer.whole()


async def _told(response: httpx.Response, watch: Watch) -> AsyncGenerator[Event, None]:
    if response.is_error:
        raise refusal(await _whole(response))
    watch.opened()
    async for chunk in response.aiter_bytes():
        for event in watch.feed(chunk):
            yield event
        if watch.is_over:
            return
