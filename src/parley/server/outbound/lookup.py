"""Looks up the names of customers' hosts, apart from the operator's own lookups."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

from parley.server.outbound.address import IpAddress, read_ip

Lookup: TypeAlias = Callable[[str, int], Awaitable[list[IpAddress]]]
"""Host and port to all addresses, best first. Raises `OSError` when there is none."""

LOOKUP_THREADS = 16
"""Lookups at once in one process. A name server that never answers holds one thread for its time-out."""


class SystemLookup:
    """The system's resolver in threads of its own.

    The loop's shared threads also look up Postgres, Redis and the operator's llms: customers'
    slow name servers must not be able to fill them.
    """

    def __init__(self, threads: int = LOOKUP_THREADS) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="outbound-lookup")

    async def __call__(self, host: str, port: int) -> list[IpAddress]:
        """All addresses of `host`, in the order of the system's preference."""
        answers = await asyncio.get_running_loop().run_in_executor(self._threads, _getaddrinfo, host, port)
        return [read_ip(text) for text in dict.fromkeys(answers)]

    def close(self) -> None:
        """Take no more lookups; those under way end by themselves."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _getaddrinfo(host: str, port: int) -> list[str]:
    answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]) for _family, _type, _proto, _name, sockaddr in answers]
