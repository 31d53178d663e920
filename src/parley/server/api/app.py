"""The app of the hosted service."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import cache
from importlib.metadata import version

from fastapi import APIRouter, FastAPI
from fastapi.routing import iter_route_contexts
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute

from parley.server.api import health
from parley.server.api.middleware import BodyCap, HostCheck, RequestShell
from parley.server.api.openapi import install_openapi, install_reference
from parley.server.api.rendering import install_error_handlers
from parley.server.api.routers import LARGE_BODIES, ROUTERS
from parley.server.api.streams import DIRECT, EVENTS, Door, StreamDoors
from parley.server.config import ApiSettings
from parley.server.errors import (
    DatabaseAway,
    InternalError,
    InvalidKey,
    InvalidRequest,
    MissingKey,
    RequestsLimited,
)
from parley.server.kit.docs import answers_with
from parley.server.kit.tasks import done_within, end_tasks
from parley.server.telemetry.watch import Watch
from parley.server.web.pages import router as dashboard
from parley.server.wiring import Services

LAST_USED_S = 1.0
"""What noting the last use of keys may hold up a process that stops."""

_log = logging.getLogger(__name__)

_EVERYWHERE = answers_with(
    InvalidRequest, MissingKey, InvalidKey, RequestsLimited, InternalError, DatabaseAway
)


def create_app(services: Services) -> FastAPI:
    """The app over `services`. Whoever opened the services closes them after the app has stopped."""
    app = FastAPI(
        title="Parley",
        version=version("parley-evals"),
        lifespan=_lifespan(services),
        middleware=_middleware(services.settings.api, services.watch),
        routes=_routes(),
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
    )
    app.state.provided = services.by_type()
    install_error_handlers(app)
    install_openapi(app)
    install_reference(app)
    return app


@cache
def _routes() -> list[BaseRoute]:
    """Every route, ready to be matched, for all apps of this process.

    What a route depends on is worked out when a request first passes it, in all a quarter of a second:
    done here, no request waits for it.
    """
    whole = APIRouter()
    whole.include_router(health.router)
    for router in ROUTERS:
        whole.include_router(router, responses=_EVERYWHERE)
    whole.include_router(dashboard)
    for _ in iter_route_contexts(whole.routes):
        pass
    return whole.routes


def _middleware(api: ApiSettings, watch: Watch) -> list[Middleware]:
    """From the outside in."""
    layers = [Middleware(RequestShell, takes_query_key=api.query_key, metrics=watch.metrics)]
    layers.append(Middleware(HostCheck, allowed=api.allowed_hosts))
    if api.cors_origins:
        layers.append(
            Middleware(
                CORSMiddleware,
                allow_origins=list(api.cors_origins),
                allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
                allow_headers=[
                    "Authorization",
                    "Content-Type",
                    "Idempotency-Key",
                    "Last-Event-ID",
                    "X-Api-Key",
                ],
                expose_headers=[
                    "Retry-After",
                    "X-RateLimit-Limit",
                    "X-RateLimit-Remaining",
                    "X-RateLimit-Reset",
                    "X-Request-Id",
                ],
                max_age=600,
            )
        )
    larger = tuple((path, api.large_body_max_bytes) for path in LARGE_BODIES)
    layers.append(
        Middleware(BodyCap, max_bytes=api.body_max_bytes, timeout_s=api.body_timeout_s, larger=larger)
    )
    doors = (
        Door(kind="direct", method="POST", path=DIRECT, most=api.direct_streams),
        Door(kind="events", method="GET", path=EVENTS, most=api.event_streams),
    )
    layers.append(Middleware(StreamDoors, doors=doors, watch=watch))
    return layers


def _leave(task: asyncio.Task[None]) -> None:
    """What goes on for ever has ended: the process leaves as if asked to, to be started again whole."""
    _log.critical("%s has ended by itself; the process leaves", task.get_name())
    signal.raise_signal(signal.SIGTERM)


def _lifespan(services: Services) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(run(), name=run.__qualname__) for run in services.background]
        for task in tasks:
            task.add_done_callback(_leave)
        try:
            yield
        finally:
            for task in tasks:
                task.remove_done_callback(_leave)
            await end_tasks(*tasks)
            with suppress(DatabaseAway):
                await done_within(LAST_USED_S, services.last_used.flush())

    return lifespan
