"""What all lists have in common."""

from __future__ import annotations

import httpx
from fastapi import FastAPI

from tests.factories.accounts import Tenant

SHELL = "/api/v1/custom-agent-evaluations"


def lists_of(app: FastAPI) -> list[str]:
    """The lists that are paged and stand under no other thing."""
    return [
        path
        for path, methods in app.openapi()["paths"].items()
        if "{" not in path
        and any(parameter["name"] == "cursor" for parameter in methods.get("get", {}).get("parameters", ()))
    ]


async def test_parameter_that_a_list_does_not_take_is_refused_by_its_name(
    app: FastAPI, client: httpx.AsyncClient, tenant: Tenant
) -> None:
    """A filter that is mistyped would list everything. The shell plane lets pass what it does not know."""
    found = lists_of(app)
    assert len(found) >= 8
    for path in found:
        answer = await client.get(f"{path}?limit=1&limitt=2", headers=tenant.auth)
        if path.startswith(SHELL):
            assert answer.status_code == 200, path
            continue
        assert answer.status_code == 400, path
        assert answer.json()["details"] == [{"field": "limitt", "problem": "is no parameter of this list"}]
        assert (await client.get(f"{path}?limit=1", headers=tenant.auth)).status_code == 200, path
