"""What a client offers, described once and carried out by either driver.

`get = Method(get_test)` in a group gives `client.tests.get(...)`: with a `Client` it blocks and returns
the answer, with an `AsyncClient` it is awaited. Arguments and types are those of `get_test`.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator, Iterator
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from parley.sdk.call import Call
from parley.sdk.events import Event
from parley.sdk.groups import D as D
from parley.sdk.paging import Page
from parley.sdk.watching import Stream

if TYPE_CHECKING:
    from parley.sdk.async_driver import AsyncDriver
    from parley.sdk.sync_driver import SyncDriver

P = ParamSpec("P")
T = TypeVar("T")


class Group(Generic[D]):
    """Calls that belong together, and the driver that carries them out."""

    def __init__(self, driver: D) -> None:
        self._driver = driver


class _Offer(Generic[P, T]):
    """A description, kept in a class of calls."""

    def __init__(self, describe: Callable[P, T]) -> None:
        self._describe = describe
        self.__doc__ = describe.__doc__

    def _bound(self, carry_out: Callable[[T], Any]) -> Callable[P, Any]:
        @functools.wraps(self._describe)
        def offered(*args: P.args, **kwargs: P.kwargs) -> Any:
            return carry_out(self._describe(*args, **kwargs))

        return offered


class Method(Generic[P, T], _Offer[P, Call[T]]):
    """A call with one answer."""

    @overload
    def __get__(self, group: Group[SyncDriver], owner: Any = None) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, group: Group[AsyncDriver], owner: Any = None
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, group: Any, owner: Any = None) -> Any:
        return self._bound(group._driver.send)


class Paged(Generic[P, T], _Offer[P, Call[Page[T]]]):
    """A list, asked for page by page while it is walked through."""

    @overload
    def __get__(self, group: Group[SyncDriver], owner: Any = None) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, group: Group[AsyncDriver], owner: Any = None) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, group: Any, owner: Any = None) -> Any:
        return self._bound(group._driver.pages)


class Streamed(_Offer[P, Stream]):
    """A stream of events."""

    @overload
    def __get__(
        self, group: Group[SyncDriver], owner: Any = None
    ) -> Callable[P, Generator[Event, None, None]]: ...
    @overload
    def __get__(
        self, group: Group[AsyncDriver], owner: Any = None
    ) -> Callable[P, AsyncGenerator[Event, None]]: ...
    def __get__(self, group: Any, owner: Any = None) -> Any:
        return self._bound(group._driver.stream)
