"""One attempt at an llm over HTTP: opens the stream, feeds the decoder, hands on its pieces.

No retries and no read deadlines here: the engine has the one layer of each.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import cached_property
from typing import Final

from parley.engine.chat.decoder import ChatDecoder
from parley.engine.chat.faults import InferenceFault
from parley.engine.chat.pieces import Piece
from parley.engine.chat.response import Disclosure, fault_of_response
from parley.engine.messages import Message
from parley.engine.ports import AttemptOptions
from parley.server.llm.endpoint import NOTHING_FORWARDED, Forwarded, LlmEndpoint
from parley.server.llm.request import completions_url, fixed_fields, request_body, request_headers
from parley.server.outbound.errors import AddressRefused, BadAddress
from parley.server.outbound.route import Way, post_head
from parley.server.outbound.wire import Head, MalformedAnswer, Wire
from parley.server.outbound.wires import NoConnection, Wires

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

    `wires` decide what may be called: guarded ones refuse inner addresses. `connect_timeout_s`
    bounds everything up to an open connection. The speaker may be used by many conversations at once.
    """

    def __init__(
        self,
        wires: Wires,
        endpoint: LlmEndpoint,
        *,
        connect_timeout_s: float,
        forwarded: Forwarded = NOTHING_FORWARDED,
    ) -> None:
        self.model = endpoint.model
        self._wires = wires
        self._endpoint = endpoint
        self._headers = request_headers(endpoint, forwarded)
        self._fixed = fixed_fields(endpoint, forwarded)
        self._connect_timeout_s = connect_timeout_s

    def carrying(self, headers: Mapping[str, str]) -> OpenAiSpeaker:
        """The same speaker, sending these headers too, except where the customer has set them."""
        own = {name.lower() for name in self._headers}
        loaded = copy(self)
        loaded._headers = {
            **self._headers,
            **{name: value for name, value in headers.items() if name.lower() not in own},
        }
        loaded.__dict__.pop("_request_head", None)
        return loaded

    async def attempt(
        self, messages: Sequence[Message], options: AttemptOptions
    ) -> AsyncGenerator[Piece, None]:
        """Make one attempt: its pieces, then one `Closing`. Raises `InferenceFault`.

        Closing the generator, or cancelling the task that waits in it, closes the connection.
        """
        body = request_body(self._fixed, self._endpoint.system_instruction, messages, options)
        wire = await self._borrowed()
        try:
            head = await self._asked(wire, body)
            decoder = await self._decoder_for(head, wire, made_up_ids=f"call_{len(messages)}_")
            while not decoder.done:
                try:
                    chunk = await (_tail(wire) if decoder.answered else wire.read())
                except OSError:
                    break  # the decoder knows whether the answer was complete by then
                if not chunk:
                    break
                pieces = decoder.feed(chunk)
                for piece in pieces:
                    yield piece
                if pieces and len(chunk) < GATHER_BELOW_BYTES and not decoder.answered:
                    await wire.gather(GATHER_S)
            await _reach_end(wire)
            for piece in decoder.close():
                yield piece
        finally:
            self._wires.give_back(wire)

    @cached_property
    def _way(self) -> Way:
        """Where attempts go. Raises `BadAddress`, `AddressRefused`, ValueError."""
        return self._wires.way(completions_url(self._endpoint.base_url))

    @cached_property
    def _request_head(self) -> bytes:
        """The head of every attempt, up to its length. Raises ValueError."""
        return post_head(self._way, self._headers)

    async def _borrowed(self) -> Wire:
        """An open connection, to be given back. Raises `InferenceFault`."""
        try:
            _ = self._request_head  # what cannot be sent needs no connection
            return await self._wires.borrow(self._way.route, self._connect_timeout_s)
        except (BadAddress, AddressRefused) as fault:
            raise InferenceFault("address_refused", fault.message, retryable=False) from None
        except (NoConnection, OSError, ValueError) as error:
            raise _connect_fault(error, self._connect_timeout_s) from None

    async def _asked(self, wire: Wire, body: bytes) -> Head:
        try:
            return await wire.ask(b"%b%d\r\n\r\n%b" % (self._request_head, len(body), body))
        except OSError as error:
            raise _connect_fault(error, self._connect_timeout_s) from None

    async def _decoder_for(self, head: Head, wire: Wire, *, made_up_ids: str) -> ChatDecoder:
        """The decoder of a good answer. Raises `InferenceFault` for any other."""
        is_inner = wire.comes_from_inside
        disclosure = Disclosure(secrets=self._endpoint.secrets, shows_text=not is_inner)
        content_type = "another kind of body" if is_inner else head.headers.get("content-type", "")
        encoding = head.headers.get("content-encoding", "identity").lower()
        if head.status != 200:
            raise fault_of_response(
                head.status,
                head.headers,
                await _error_body(wire) if encoding == "identity" else b"",
                content_type,
                disclosure=disclosure,
            )
        if encoding != "identity":
            message = "the endpoint sent a compressed body although a plain one was asked for"
            raise InferenceFault("not_a_stream", message, retryable=False, status=200)
        return ChatDecoder(
            self.model, content_type=content_type, disclosure=disclosure, made_up_ids=made_up_ids
        )


async def _tail(wire: Wire) -> bytes:
    async with asyncio.timeout(TAIL_WAIT_S):
        return await wire.read()


async def _reach_end(wire: Wire) -> None:
    """Read the end of the body if it comes at once: only then is the connection used again."""
    if not wire.may_stay:
        with suppress(OSError):
            async with asyncio.timeout(REUSE_WAIT_S):
                await wire.read()


async def _error_body(wire: Wire) -> bytes:
    found = b""
    with suppress(OSError):
        async with asyncio.timeout(ERROR_BODY_WAIT_S):
            while len(found) < MAX_ERROR_BODY_BYTES and (chunk := await wire.read()):
                found += chunk
    return found[:MAX_ERROR_BODY_BYTES]


def _connect_fault(error: Exception, connect_timeout_s: float) -> InferenceFault:
    """Why there is no answer, without any address: the text may be about an inner one."""
    if isinstance(error, NoConnection):
        message = f"no connection to the endpoint within {connect_timeout_s:g} seconds"
        return InferenceFault("connect_failed", message, retryable=True)
    if isinstance(error, ssl.SSLCertVerificationError):
        message = "the endpoint's TLS certificate is not valid for its name, or is not trusted"
        return InferenceFault("connect_failed", message, retryable=False)
    if isinstance(error, socket.gaierror):
        message = "the endpoint's name could not be looked up"
        return InferenceFault("connect_failed", message, retryable=True)
    if isinstance(error, MalformedAnswer):
        message = "the endpoint does not answer in HTTP"
        return InferenceFault("stream_malformed", message, retryable=True)
    if isinstance(error, ValueError):
        message = "the request cannot be sent: the endpoint's address or one of its headers is malformed"
        return InferenceFault("connect_failed", message, retryable=False)
    return InferenceFault("connect_failed", "the connection to the endpoint failed", retryable=True)
