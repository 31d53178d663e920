"""Reads the resources of a test: texts as they stand, remote ones through the guard."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import ClientSession

from parley.server.outbound.errors import OutboundFault
from parley.server.outbound.fetch import call_address
from parley.server.resources.content import ACCEPT, NotText, text_in


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceLimits:
    """Bounds of one resource: seconds in all, and bytes, as sent and as unpacked."""

    deadline_s: float = 10.0
    max_bytes: int = 200_000


class ResourceUnavailable(Exception):
    """A remote resource cannot be had. `place` counts from 0; `problem` is fit for the customer's eyes."""

    def __init__(self, place: int, problem: str) -> None:
        super().__init__(problem)
        self.place = place
        self.problem = problem


class ResourceReader:
    """Reads resources; the documents of one test all at the same time."""

    def __init__(self, session: ClientSession, limits: ResourceLimits) -> None:
        self._session = session
        self._limits = limits

    async def texts(self, resources: Sequence[Mapping[str, Any]]) -> list[str]:
        """One text for each resource of a definition. An address named twice is read once.

        Raises `ResourceUnavailable` for the first one, in their order, that cannot be had.
        """
        urls = list(dict.fromkeys(each["data"] for each in resources if each["type"] == "RemoteResource"))
        read = await asyncio.gather(*map(self._read, urls))
        found = dict(zip(urls, read, strict=True))
        texts: list[str] = []
        for place, resource in enumerate(resources):
            text = found[resource["data"]] if resource["type"] == "RemoteResource" else resource["data"]
            if isinstance(text, NotText):
                raise ResourceUnavailable(place, text.problem)
            texts.append(text)
        return texts

    async def _read(self, url: str) -> str | NotText:
        try:
            answer = await call_address(
                self._session,
                "GET",
                url,
                headers={"Accept": ACCEPT, "User-Agent": "Parley-Resources/1"},
                deadline_s=self._limits.deadline_s,
                max_body_bytes=self._limits.max_bytes,
            )
            return text_in(answer, self._limits.max_bytes)
        except OutboundFault as fault:
            return NotText(fault.message)
        except NotText as fault:
            return fault
