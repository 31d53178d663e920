"""An answer is read up to a bound, however small it was sent: a compressed one may hold gigabytes."""

from __future__ import annotations

import httpx

from parley.sdk.errors import UnexpectedAnswer

MOST_BYTES = 64_000_000
"""Of one answer, unpacked; far above any page the service sends."""
_OF_TRANSPORT = ("content-encoding", "content-length", "transfer-encoding")


class BoundedAnswer:
    """The body of a response as it arrives."""

    def __init__(self, response: httpx.Response, most_bytes: int = MOST_BYTES) -> None:
        self._response = response
        self._most_bytes = most_bytes
        self._body = bytearray()

    def add(self, chunk: bytes) -> None:
        """More of it. Raises `UnexpectedAnswer` above the bound."""
        self._body += chunk
        if len(self._body) > self._most_bytes:
            asked = self._response.request
            raise UnexpectedAnswer(
                f"{asked.method} {asked.url.copy_with(query=None)} was answered with more than "
                f"{self._most_bytes} bytes; is PARLEY_URL the address of the service?"
            )

    def whole(self) -> httpx.Response:
        """The response with its body, unpacked."""
        headers = [
            (name, value)
            for name, value in self._response.headers.multi_items()
            if name.lower() not in _OF_TRANSPORT
        ]
        return httpx.Response(
            self._response.status_code,
            headers=headers,
            content=bytes(self._body),
            request=self._response.request,
        )
