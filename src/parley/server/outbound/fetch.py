"""One bounded call to a customer's address: no redirects, one deadline, a byte cap before decoding."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from aiohttp import ClientError, ClientResponse, ClientSession, StreamReader

from parley.server.outbound.address import parse
from parley.server.outbound.errors import ConnectFailed, DeadlinePassed


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back. `body` is raw, as sent; `is_cut` tells that more than the cap was on its way.

    `headers` has lower-case names; of a repeated header the last value is kept.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_cut: bool

    def decoded(self, max_bytes: int) -> bytes:
        """The body without its content encoding, cut at `max_bytes`.

        A small compressed body may stand for gigabytes: no more than the cap is ever unpacked.
        Raises `ConnectFailed` for a broken body or an encoding other than gzip and deflate.
        """
        encoding = self.headers.get("content-encoding", "identity").strip().lower()
        if encoding in ("", "identity") or not self.body:
            return self.body[:max_bytes]
        if encoding not in ("gzip", "x-gzip", "deflate"):
            raise ConnectFailed("The answer uses a content encoding that was not asked for.")
        # 32 + MAX_WBITS reads both gzip and zlib headers.
        unpacking = zlib.decompressobj(32 + zlib.MAX_WBITS)
        try:
            found = unpacking.decompress(self.body, max_bytes)
        except zlib.error:
            raise ConnectFailed("The answer's compressed body is broken.") from None
        if len(found) < max_bytes and not unpacking.eof and not self.is_cut:
            raise ConnectFailed("The answer's compressed body is broken.")
        return found


async def call_address(
    session: ClientSession,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes | None = None,
    deadline_s: float,
    max_body_bytes: int,
) -> Answer:
    """Call `url` once through a guarded session.

    `deadline_s` covers lookup, connection and the whole body. Raises the tree of `outbound.errors`.
    """
    target = parse(url)
    try:
        async with asyncio.timeout(deadline_s):
            response = await session.request(
                method,
                target.url,
                headers={"Accept-Encoding": "identity", **headers},
                data=body,
                allow_redirects=False,
            )
            try:
                return await _read_answer(response, max_body_bytes)
            finally:
                response.close()
    except TimeoutError:
        raise DeadlinePassed(deadline_s) from None
    except (ClientError, OSError):
        raise ConnectFailed("The connection to the address failed.") from None


async def _read_answer(response: ClientResponse, max_body_bytes: int) -> Answer:
    body = await read_prefix(response.content, max_body_bytes + 1)
    return Answer(
        status=response.status,
        headers={name.lower(): value for name, value in response.headers.items()},
        body=body[:max_body_bytes],
        is_cut=len(body) > max_body_bytes,
    )


async def read_prefix(content: StreamReader, max_bytes: int) -> bytes:
    """At most `max_bytes` of a body, as sent; the rest is left unread."""
    chunks: list[bytes] = []
    missing = max_bytes
    while missing > 0 and (chunk := await content.read(missing)):
        chunks.append(chunk)
        missing -= len(chunk)
    return b"".join(chunks)
