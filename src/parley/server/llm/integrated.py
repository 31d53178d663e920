"""Integrated llms: systems under test that the operator offers, called by `@vendor/name`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from parley.server.llm.endpoint import LlmEndpoint
from parley.server.llm.prices import Prices

SLUG: Final = re.compile(r"@[a-z0-9][a-z0-9._-]{0,62}/[a-z0-9][a-z0-9._:-]{0,127}")


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegratedLlm:
    """One llm on offer: its slug (`@vendor/name`, lower case), where it lives, what it costs an account."""

    slug: str
    endpoint: LlmEndpoint
    prices: Prices


class IntegratedLlms:
    """All llms on offer, by slug. Raises `ValueError` for a malformed or repeated slug."""

    def __init__(self, llms: Iterable[IntegratedLlm]) -> None:
        self._by_slug: dict[str, IntegratedLlm] = {}
        for llm in llms:
            if SLUG.fullmatch(llm.slug) is None:
                raise ValueError(f"{llm.slug!r} is not a slug of the form @vendor/name.")
            if llm.slug in self._by_slug:
                raise ValueError(f"{llm.slug!r} is offered twice.")
            self._by_slug[llm.slug] = llm

    def find(self, slug: str) -> IntegratedLlm | None:
        """The llm of this slug, if it is on offer."""
        return self._by_slug.get(slug)

    def __iter__(self) -> Iterator[IntegratedLlm]:
        return iter(self._by_slug.values())


def is_integrated(gateway: str) -> bool:
    """Whether a test's `gateway` field means an integrated llm rather than a gateway of the account's."""
    return gateway.startswith("@")
