"""The OpenAPI document, built when it is first asked for."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse

from parley.server.api.reference import reference_page

_SECURITY = {
    "Bearer": {"type": "http", "scheme": "bearer", "description": "`Authorization: Bearer sk-par-...`"},
    "Basic": {"type": "http", "scheme": "basic", "description": "Any user name, the key as password."},
    "Header": {"type": "apiKey", "in": "header", "name": "x-api-key"},
    "Query": {
        "type": "apiKey",
        "in": "query",
        "name": "api-key",
        "description": "Last resort; an operator may switch it off.",
    },
}
_PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
_DESCRIPTION = """\
Tests conversational agents the way people use them.

Success is `{"message", "data"}`, an error `{"error", "code", "details"}`; lists add `page`.
Ids are UUIDv7, times RFC 3339 in UTC, money US dollars.
"""


def install_openapi(app: FastAPI) -> None:
    """Replace FastAPI's document: our ways to send a key, our 400 instead of its 422."""

    def build() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = build  # type: ignore[method-assign]


def install_reference(app: FastAPI) -> None:
    """Serve the document as a page for people at `/docs`, made when first asked for."""
    app.get("/docs", include_in_schema=False)(_reference)


async def _reference(request: Request) -> HTMLResponse:
    # Takes the app from the request: FastAPI remembers every endpoint for as long as the process lives.
    app: FastAPI = request.app
    if not hasattr(app.state, "reference"):
        app.state.reference = reference_page(app.openapi())
    return HTMLResponse(app.state.reference, headers={"Content-Security-Policy": _PAGE_POLICY})


def _document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(title=app.title, version=app.version, description=_DESCRIPTION, routes=app.routes)
    for path in document["paths"].values():
        for operation in path.values():
            operation["responses"].pop("422", None)
    components = document.setdefault("components", {})
    _hoist(document["paths"], components.setdefault("schemas", {}))
    for unused in ("HTTPValidationError", "ValidationError"):
        components.get("schemas", {}).pop(unused, None)
    components["securitySchemes"] = _SECURITY
    document["security"] = [{name: []} for name in _SECURITY]
    return document


def _hoist(node: Any, schemas: dict[str, Any]) -> None:
    """Move the `$defs` of schemas that rooms describe themselves to where OpenAPI looks for them."""
    if isinstance(node, dict):
        for name, schema in node.pop("$defs", {}).items():
            _hoist(schema, schemas)
            schemas.setdefault(name, schema)
        for key, inner in node.items():
            if isinstance(inner, str) and inner.startswith("#/$defs/"):
                node[key] = inner.replace("#/$defs/", "#/components/schemas/")
            else:
                _hoist(inner, schemas)
    elif isinstance(node, list):
        for inner in node:
            _hoist(inner, schemas)
