"""The server of the app: uvicorn on uvloop and httptools, without its access log."""

from __future__ import annotations

import asyncio
import os
import socket

import uvicorn

from parley.server.api.app import create_app
from parley.server.api.protocol import HttpProtocol
from parley.server.config import Settings
from parley.server.logs import configure_logs
from parley.server.wiring import Services, open_services


class Server(uvicorn.Server):
    """uvicorn, telling open streams to end before it waits for open requests."""

    def __init__(self, config: uvicorn.Config, services: Services) -> None:
        super().__init__(config)
        self._services = services

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, end the streams, wait for what is open."""
        ending = asyncio.create_task(self._services.end_streams(), name="end-streams")
        await super().shutdown(sockets)
        await ending


def server_of(services: Services) -> Server:
    """A server that is not started yet. The address and port come from the settings."""
    api = services.settings.api
    return Server(
        uvicorn.Config(
            create_app(services),
            host=api.host,
            port=api.port,
            loop="none",
            http=HttpProtocol,
            ws="none",
            access_log=False,
            log_config=None,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=api.shutdown_grace_s,
        ),
        services,
    )


async def serve(settings: Settings) -> None:
    """Open the services, serve until a signal asks to stop, close them."""
    async with open_services(settings) as services:
        await server_of(services).serve()


def run(settings: Settings | None = None) -> None:
    """Serve in this process until it is told to stop. Blocking."""
    settings = settings or Settings.load()
    configure_logs(settings.log.level, settings.log.format)
    if os.name == "nt":
        asyncio.run(serve(settings))
    else:
        import uvloop

        uvloop.run(serve(settings))
