"""How an endpoint gets what the process built once, without its room knowing who built it."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from fastapi import Depends, Request

T = TypeVar("T")


def provided(kind: type[T]) -> Any:
    """A dependency on the one `kind` of this process: `keyring: Annotated[Keyring, provided(Keyring)]`."""

    def find(request: Request) -> T:
        return find_provided(request, kind)

    return Depends(find)


def find_provided(request: Request, kind: type[T]) -> T:
    """The one `kind` of this process. Raises LookupError if it was not built: a fault in the wiring."""
    known = cast("dict[type[Any], Any]", request.app.state.provided)
    if kind not in known:
        raise LookupError(f"this process provides no {kind.__name__}")
    return cast("T", known[kind])
