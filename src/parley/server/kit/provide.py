"""How an endpoint gets what the process built once, without its room knowing who built it."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from fastapi import Depends, Request

T = TypeVar("T")


def provided(kind: type[T]) -> Any:
    """A dependency on the one `kind` of this process: `keyring: Annotated[Keyring, provided(Keyring)]`.

    It raises LookupError where none was built: a fault in the wiring.
    """

    async def find(request: Request) -> T:  # a plain function would be run in a thread of its own
        known: dict[type[Any], Any] = request.app.state.provided
        if kind not in known:
            raise LookupError(f"this process provides no {kind.__name__}")
        return cast("T", known[kind])

    return Depends(find)
