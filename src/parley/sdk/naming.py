"""People name tests by what they call them; the API wants ids."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from parley.sdk.errors import NotFoundByName


class Named(Protocol):
    """Anything with an id and a name."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


def is_id(reference: str) -> bool:
    """Whether a reference is an id rather than a name."""
    try:
        return str(uuid.UUID(reference)) == reference.lower()
    except ValueError:
        return False


def the_one(kind: str, name: str, found: Iterable[N]) -> N:
    """The only one that is called exactly so. Raises `NotFoundByName`."""
    candidates = list(found)
    matching = [one for one in candidates if one.name == name]
    if len(matching) == 1:
        return matching[0]
    if matching:
        ids = ", ".join(one.id for one in matching)
        raise NotFoundByName(f"{len(matching)} {kind}s are called {name!r}; name one by its id: {ids}.")
    raise NotFoundByName(f"No {kind} is called {name!r}{_alike(candidates)}.")


def _alike(candidates: Sequence[Named]) -> str:
    names = sorted({repr(one.name) for one in candidates})[:3]
    return f"; there is {', '.join(names)}" if names else ""
