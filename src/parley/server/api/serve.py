"""The server of the app: uvicorn on uvloop and httptools, without its access log."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from parley.server.api.app import create_app
from parley.server.api.operators_app import create_operators_app
from parley.server.api.protocol import HttpProtocol
from parley.server.config import ApiSettings, Settings
from parley.server.kit.heap import settle_heap
from parley.server.kit.leaving import SPARE_S, leave_within
from parley.server.logs import configure_logs
from parley.server.wiring import Services, open_services


def _nothing() -> None:
    """Nobody wants to know."""


class Server(uvicorn.Server):
    """uvicorn, telling open streams to end before it waits for open requests.

    The operators' server, if there is one, starts and stops with it. `on_leaving` is called when it stops.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        services: Services,
        operators: OperatorsServer | None = None,
        on_leaving: Callable[[], None] = _nothing,
    ) -> None:
        super().__init__(config)
        self._on_leaving = on_leaving
        self._services = services
        self.operators = operators
        self._beside: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and let the operators' server listen."""
        await super().startup(sockets)
        if self.operators is not None:
            self._beside = asyncio.create_task(self.operators.serve(), name="operators-api")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, end the streams, wait for what is open."""
        self._on_leaving()
        ending = asyncio.create_task(self._services.end_streams(), name="end-streams")
        if self.operators is not None:
            self.operators.should_exit = True
        await super().shutdown(sockets)
        await ending
        if self._beside is not None:
            await self._beside

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take a signal as the wish it is. uvicorn would send it again, before the services are closed."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()


class OperatorsServer(uvicorn.Server):
    """A server that leaves signals to the one it stands beside."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


class _EndedStreams(logging.Filter):
    """Says that a stream was ended on purpose, which uvicorn takes for a fault.

    Its client has to learn that the run has not ended, so the body is left without its own end.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass, that one as an information."""
        if record.msg == "ASGI callable returned without completing response.":
            record.msg, record.levelno, record.levelname = "an open stream was ended", logging.INFO, "INFO"
        return True


def server_of(services: Services, on_leaving: Callable[[], None] = _nothing) -> Server:
    """A server that is not started yet. Addresses and ports come from the settings."""
    api, admin = services.settings.api, services.settings.admin
    operators = None
    if admin.token.get_secret_value():
        app = create_operators_app(services)
        operators = OperatorsServer(_config(app, admin.host, admin.port, api))
    config = _config(create_app(services), api.host, api.port, api)
    return Server(config, services, operators, on_leaving)


def _config(app: FastAPI, host: str, port: int, api: ApiSettings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        loop="none",
        http=HttpProtocol.patient_for(head_s=api.head_timeout_s, body_s=api.body_timeout_s),
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=api.shutdown_grace_s,
    )


async def serve(settings: Settings) -> None:
    """Open the services, serve until a signal asks to stop, close them."""
    async with open_services(settings) as services:
        server = server_of(services, lambda: leave_within(settings.api.shutdown_grace_s + SPARE_S))
        settle_heap()
        await server.serve()


def run(settings: Settings | None = None) -> None:
    """Serve in this process until it is told to stop. Blocking."""
    settings = settings or Settings.load()
    configure_logs(settings.log.level, settings.log.format)
    logging.getLogger("uvicorn.error").addFilter(_EndedStreams())
    if os.name == "nt":
        asyncio.run(serve(settings))
    else:
        import uvloop

        uvloop.run(serve(settings))
