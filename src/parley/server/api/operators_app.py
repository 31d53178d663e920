"""The app of the operators' API: another address, another token, nothing of the public API."""

from __future__ import annotations

from importlib.metadata import version

from fastapi import FastAPI
from starlette.middleware import Middleware

from parley.server.api import metrics, operated_retention
from parley.server.api.middleware import BodyCap, HostCheck, RequestShell
from parley.server.api.rendering import install_error_handlers
from parley.server.operators.endpoints import router
from parley.server.operators.token import OperatorToken
from parley.server.wiring import Services


def create_operators_app(services: Services) -> FastAPI:
    """The app over `services`. Raises ValueError without a token: then there is no such API."""
    settings = services.settings
    token = settings.admin.token.get_secret_value()
    if not token:
        raise ValueError("the operators' API is off: PARLEY_ADMIN_TOKEN is not set")
    layers = [Middleware(RequestShell, takes_query_key=False)]
    api = settings.api
    layers.append(Middleware(HostCheck, allowed=api.allowed_hosts))
    layers.append(Middleware(BodyCap, max_bytes=api.body_max_bytes, timeout_s=api.body_timeout_s))
    app = FastAPI(
        title="Parley operators",
        version=version("parley-evals"),
        middleware=layers,
        redirect_slashes=False,
        openapi_url=None,
    )
    app.state.provided = services.by_type() | {OperatorToken: OperatorToken(token)}
    install_error_handlers(app)
    app.include_router(router)
    app.include_router(operated_retention.router)
    app.include_router(metrics.router)
    return app
