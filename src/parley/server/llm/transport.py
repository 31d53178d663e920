"""One attempt at an llm over HTTP: opens the stream, feeds the decoder, hands on its pieces.

No retries and no read deadlines here: the engine has the one layer of each.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import cached_property
from typing import Final

from aiohttp import (
    ClientConnectorCertificateError,
    ClientConnectorDNSError,
    ClientError,
    ClientResponse,
    ClientResponseError,
    ClientSession,
    ClientTimeout,
    ConnectionTimeoutError,
    InvalidURL,
    StreamReader,
)

from parley.engine.chat.decoder import ChatDecoder
from parley.engine.chat.faults import InferenceFault
from parley.engine.chat.pieces import Piece
from parley.engine.chat.response import Disclosure, fault_of_response
from parley.engine.messages import Message
from parley.engine.ports import AttemptOptions
from parley.server.llm.endpoint import NOTHING_FORWARDED, Forwarded, LlmEndpoint
from parley.server.llm.request import completions_url, fixed_fields, request_body, request_headers
from parley.server.outbound.address import parse
from parley.server.outbound.connector import GuardedConnector, GuardedResponse
from parley.server.outbound.errors import AddressRefused, BadAddress
from parley.server.outbound.fetch import read_prefix

MAX_ERROR_BODY_BYTES: Final = 16_384
"""Read of an error answer; its text is shown up to 2,000 characters."""
ERROR_BODY_WAIT_S: Final = 5.0
"""Wait for the body of an error answer; the status alone is enough to go on."""
TAIL_WAIT_S: Final = 5.0
"""Wait for usage and [DONE] after a finish_reason: some endpoints keep the connection open for ever."""
REUSE_WAIT_S: Final = 0.1
"""Wait for the end of the body behind [DONE], which lets the connection be used again."""

GATHER_S: Final = 0.02
"""Words that come this soon after others are read together with what comes meanwhile: the eye sees no
difference, and to wake a conversation for every token costs most of what a token costs. The first words
wait for nothing; the end of an answer may be seen this much later."""
GATHER_BELOW_BYTES: Final = 16_384
"""A read as large as this is part of a flood, which is not made slower."""


class OpenAiSpeaker:
    """An llm behind an OpenAI-compatible chat-completions stream.

    `session` decides what may be called: a guarded one refuses inner addresses. `connect_timeout_s`
    bounds everything up to an open connection. The speaker may be used by many conversations at once.
    """

    def __init__(
        self,
        session: ClientSession,
        endpoint: LlmEndpoint,
        *,
        connect_timeout_s: float,
        forwarded: Forwarded = NOTHING_FORWARDED,
    ) -> None:
        self.model = endpoint.model
        self._session = session
        self._is_guarded = isinstance(session.connector, GuardedConnector)
        self._endpoint = endpoint
        self._headers = request_headers(endpoint, forwarded)
        self._fixed = fixed_fields(endpoint, forwarded)
        self._connect_timeout_s = connect_timeout_s
        self._timeout = ClientTimeout(total=None, connect=connect_timeout_s)

    def carrying(self, headers: Mapping[str, str]) -> OpenAiSpeaker:
        """The same speaker, sending these headers too, except where the customer has set them."""
        own = {name.lower() for name in self._headers}
        loaded = copy(self)
        loaded._headers = {
            **self._headers,
            **{name: value for name, value in headers.items() if name.lower() not in own},
        }
        return loaded

    async def attempt(
        self, messages: Sequence[Message], options: AttemptOptions
    ) -> AsyncGenerator[Piece, None]:
        """Make one attempt: its pieces, then one `Closing`. Raises `InferenceFault`.

        Closing the generator, or cancelling the task that waits in it, closes the connection.
        """
        response = await self._open(
            request_body(self._fixed, self._endpoint.system_instruction, messages, options)
        )
        try:
            decoder = await self._decoder_for(response, made_up_ids=f"call_{len(messages)}_")
            content = response.content
            while not decoder.done:
                try:
                    chunk = await (_tail(content) if decoder.answered else content.readany())
                except (ClientError, OSError):
                    break  # the decoder knows whether the answer was complete by then
                if not chunk:
                    break
                pieces = decoder.feed(chunk)
                for piece in pieces:
                    yield piece
                if pieces and len(chunk) < GATHER_BELOW_BYTES and not decoder.answered:
                    await _gather(response)
            await _reach_end(content)
            for piece in decoder.close():
                yield piece
        finally:
            if not response.closed:  # read to its end it is, and its connection given back
                response.close()

    @cached_property
    def _url(self) -> str:
        """Where attempts go. Raises `BadAddress`, ValueError."""
        url = completions_url(self._endpoint.base_url)
        return parse(url).url if self._is_guarded else url

    async def _open(self, body: bytes) -> ClientResponse:
        try:
            return await self._session.post(
                self._url,
                data=body,
                headers=self._headers,
                allow_redirects=False,
                timeout=self._timeout,
            )
        except (BadAddress, AddressRefused) as fault:
            raise InferenceFault("address_refused", fault.message, retryable=False) from None
        except (ClientError, OSError, ValueError) as error:
            raise _connect_fault(error, self._connect_timeout_s) from None

    async def _decoder_for(self, response: ClientResponse, *, made_up_ids: str) -> ChatDecoder:
        """The decoder of a good answer. Raises `InferenceFault` for any other."""
        is_inner = isinstance(response, GuardedResponse) and response.comes_from_inside
        disclosure = Disclosure(secrets=self._endpoint.secrets, shows_text=not is_inner)
        content_type = "another kind of body" if is_inner else response.headers.get("Content-Type", "")
        encoding = response.headers.get("Content-Encoding", "identity").lower()
        if response.status != 200:
            raise fault_of_response(
                response.status,
                response.headers,
                await _error_body(response) if encoding == "identity" else b"",
                content_type,
                disclosure=disclosure,
            )
        if encoding != "identity":
            message = "the endpoint sent a compressed body although a plain one was asked for"
            raise InferenceFault("not_a_stream", message, retryable=False, status=200)
        return ChatDecoder(
            self.model, content_type=content_type, disclosure=disclosure, made_up_ids=made_up_ids
        )


async def _gather(response: ClientResponse) -> None:
    """Let words gather for `GATHER_S` in the kernel: a socket nobody listens to wakes nobody.

    Nothing is waited for once the answer is here to its end.
    """
    transport = response.connection.transport if response.connection else None
    if transport is None:
        return
    transport.pause_reading()
    try:
        await asyncio.sleep(GATHER_S)
    finally:
        if not transport.is_closing():
            transport.resume_reading()


async def _tail(content: StreamReader) -> bytes:
    async with asyncio.timeout(TAIL_WAIT_S):
        return await content.readany()


async def _reach_end(content: StreamReader) -> None:
    """Read the end of the body if it comes at once: only then is the connection used again."""
    if not content.is_eof():
        with suppress(ClientError, OSError):
            async with asyncio.timeout(REUSE_WAIT_S):
                await content.readany()


async def _error_body(response: ClientResponse) -> bytes:
    try:
        async with asyncio.timeout(ERROR_BODY_WAIT_S):
            return await read_prefix(response.content, MAX_ERROR_BODY_BYTES)
    except (ClientError, OSError):
        return b""


def _connect_fault(error: Exception, connect_timeout_s: float) -> InferenceFault:
    """Why there is no answer, without any address: the text may be about an inner one."""
    if isinstance(error, ConnectionTimeoutError):
        message = f"no connection to the endpoint within {connect_timeout_s:g} seconds"
        return InferenceFault("connect_failed", message, retryable=True)
    if isinstance(error, ClientConnectorCertificateError):
        message = "the endpoint's TLS certificate is not valid for its name, or is not trusted"
        return InferenceFault("connect_failed", message, retryable=False)
    if isinstance(error, ClientConnectorDNSError):
        message = "the endpoint's name could not be looked up"
        return InferenceFault("connect_failed", message, retryable=True)
    if isinstance(error, ClientResponseError):
        message = "the endpoint does not answer in HTTP"
        return InferenceFault("stream_malformed", message, retryable=True)
    if isinstance(error, InvalidURL | ValueError):
        message = "the request cannot be sent: the endpoint's address or one of its headers is malformed"
        return InferenceFault("connect_failed", message, retryable=False)
    return InferenceFault("connect_failed", "the connection to the endpoint failed", retryable=True)
