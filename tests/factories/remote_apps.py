"""Remote apps: registered with the service, and served over a socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

from parley.server.apps import service
from parley.server.apps.schemas import AppCreate
from parley.server.db.tables import RemoteApp
from parley.server.wiring import Services
from tests.factories.accounts import Tenant
from tests.listening import listening

SERVICE_KEY = "canary-service-key-of-more-than-32-characters"
APP_BODY: dict[str, Any] = {
    "name": "Shop backend",
    "url": "https://shop.example.com/internal/evals",
    "service_key": SERVICE_KEY,
}


async def make_app(services: Services, tenant: Tenant, **fields: Any) -> RemoteApp:
    """An app of the tenant's; `fields` as in the body of a POST."""
    body = AppCreate.model_validate(APP_BODY | fields)
    async with services.database.session() as session:
        return await service.create(session, tenant.scope, services.keyring, services.outbound_policy, body)


@asynccontextmanager
async def app_served(asgi: Any) -> AsyncIterator[str]:
    """Serve an ASGI app on a free port of 127.0.0.1 while the block runs; gives its address."""
    config = uvicorn.Config(asgi, host="127.0.0.1", port=0, log_level="error", timeout_graceful_shutdown=1)
    async with listening(uvicorn.Server(config)) as url:
        yield url
