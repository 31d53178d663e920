"""Scripted suites stored and begun, and `/api/v1/evaluations/{id}/attempts`, as owner and as others."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from parley.server.wiring import Services
from tests.factories.accounts import Tenant, make_key
from tests.factories.gateways import make_gateway
from tests.integration.suites.scene import tick_of

URL = "/api/v1/suites"
EVALUATIONS = "/api/v1/evaluations"
YAML = """
id: shop
cases:
  - id: greets
    name: Greets
    splits: [smoke]
    steps: [{message: Hello there, expect: {type: answer, criteria: [Greets back.]}}]
  - id: twice
    repetitions: 2
    steps: [{message: Bye., expect: {type: answer}}]
"""
STEP = {"message": "Hello?", "expect": {"type": "answer"}}


@pytest.fixture
async def gateway(services: Services, tenant: Tenant) -> str:
    """The slug of a gateway."""
    return (await make_gateway(services, tenant)).slug


def script(gateway: str, suite: Any = YAML, **target: Any) -> dict[str, Any]:
    """A script against a gateway."""
    plain = {"type": "gateway", "gateway": gateway, "toolVisibility": "none"}
    return {"suite": suite, "target": plain | target}


async def posted(client: httpx.AsyncClient, tenant: Tenant, path: str, body: Any, status: int = 201) -> Any:
    """The data of a POST, or the whole answer of a refusal."""
    answer = await client.post(path, headers=tenant.auth, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()["data"] if status < 300 else answer.json()


async def test_script_is_stored_versioned_and_told(
    client: httpx.AsyncClient, tenant: Tenant, gateway: str
) -> None:
    suite = await posted(client, tenant, URL, {"name": "Shop", "script": script(gateway)})
    assert (suite["case_count"], suite["splits"], suite["version"]) == (2, ["smoke"], 1)
    assert suite["cases"][0] == {
        "id": "greets",
        "kind": "scripted",
        "test_id": None,
        "name": "Greets",
        "splits": ["smoke"],
    }
    [listed] = (await client.get(URL, headers=tenant.auth)).json()["data"]
    assert listed == {name: suite[name] for name in suite.keys() - {"cases", "defaults", "script"}}
    told = suite["script"]
    assert (told["judge"], told["profile"], told["target"]["toolVisibility"]) == ("service", "low", "none")
    same = await client.patch(
        f"{URL}/{suite['id']}", headers=tenant.auth, json={"script": script(gateway, told["suite"])}
    )
    assert (same.json()["data"]["version"], same.json()["data"]["script"]) == (1, told)
    changed = script(gateway, {**told["suite"], "onSemanticFailure": "continue"})
    other = await client.patch(f"{URL}/{suite['id']}", headers=tenant.auth, json={"script": changed})
    assert other.json()["data"]["version"] == 2
    assert other.json()["data"]["script"]["revision"] != told["revision"]
    refused = await client.patch(f"{URL}/{suite['id']}", headers=tenant.auth, json={"script": None})
    assert refused.json()["details"][0]["field"] == "cases"


@pytest.mark.parametrize(
    ("field", "body"),
    [
        ("script.suite.cases[0].steps[0].expect.type", {"suite": {"id": "a", "cases": [
            {"id": "b", "steps": [{"message": "c", "expect": {"type": "reply"}}]}]}}),
        ("script.suite", {"suite": "id: [shop"}),
        ("script.suite.cases[0].repetitions", {"suite": {"id": "a", "cases": [
            {"id": "b", "repetitions": 21, "steps": [STEP]}]}}),
        ("script.suite.cases[0].steps[1].resume.using", {"suite": {"id": "a", "cases": [
            {"id": "b", "steps": [{"message": "c", "expect": {"type": "interrupt"}},
                                  {"resume": {"using": "nobody"}, "expect": {"type": "answer"}}]}]}}),
        ("script.suite.cases[0].steps[0].expect.reference", {"suite": {"id": "a", "cases": [
            {"id": "b", "steps": [{"message": "c", "expect": {"type": "answer",
                                                               "reference": {"using": "d"}}}]}]}}),
        ("script.suite.evidence", {"suite": {"id": "a", "evidence": {"events": {"using": "mine"}}, "cases": [
            {"id": "b", "steps": [STEP]}]}}),
        ("script.judge", {"judge": "app"}),
        ("script.target.type", {"target": {"type": "pigeon"}}),
        ("script.target.gateway", {"target": {"type": "gateway", "gateway": "nope",
                                              "toolVisibility": "full"}}),
        ("script.target.model", {"target": {"type": "gateway", "gateway": "@a/b", "model": "c",
                                            "toolVisibility": "full"}}),
        ("script.target.toolVisibility", {"target": {"type": "gateway", "gateway": "x"}}),
    ],
)  # fmt: skip
async def test_faults_of_a_script_are_named_by_their_path(
    field: str, body: dict[str, Any], client: httpx.AsyncClient, tenant: Tenant, gateway: str
) -> None:
    answer = await posted(client, tenant, URL, {"name": "Shop", "script": script(gateway) | body}, 400)
    assert field in {fault["field"] for fault in answer["details"]}


@pytest.mark.parametrize(
    ("field", "target"),
    [
        ("tools[0].webhook.url", {"tools": [{"type": "auto", "name": "a", "webhook": {"url": "http://10.0.0.1/"}}]}),
        ("verify.url", {"verify": {"url": "file:///etc/passwd"}}),
        ("tools[0]", {"tools": [{"type": "auto", "name": "a"}]}),
        ("tools[0]", {"tools": [{"type": "interrupt", "name": "a", "kind": "choice"}]}),
        ("tools[0]", {"tools": [{"type": "manual", "name": "a"}]}),
        ("tools[0].stubs[0]", {"tools": [{"type": "auto", "name": "a", "stubs": [{"match": {}}]}]}),
        ("tools[1].name", {"tools": [{"type": "output", "name": "a", "schemaId": "b"}] * 2}),
        ("outputs[0].jsonSchema", {"outputs": [{"schemaId": "a", "jsonSchema": {"$ref": "http://x"}}]}),
        ("responders[0]", {"responders": [{"name": "a"}]}),
        ("colour", {"colour": "red"}),
    ],
)  # fmt: skip
async def test_faults_of_a_target_are_named_by_their_path(
    field: str, target: dict[str, Any], client: httpx.AsyncClient, tenant: Tenant, gateway: str
) -> None:
    body = {"name": "Shop", "script": script(gateway, **target)}
    answer = await posted(client, tenant, URL, body, 400)
    found = [fault["field"] for fault in answer["details"]]
    assert any(one.startswith(f"script.target.{field}") for one in found), found


async def test_attempts_are_listed_filtered_and_nobody_elses(
    client: httpx.AsyncClient, tenant: Tenant, stranger: Tenant, gateway: str, services: Services
) -> None:
    suite = await posted(client, tenant, URL, {"name": "Shop", "script": script(gateway)})
    evaluation = await posted(client, tenant, f"{URL}/{suite['id']}/evaluations", {"commit": "4f0c"}, 202)
    assert evaluation["statistics"]["expected_count"] == 3
    assert evaluation["grading"]["script"]["judge"]["id"] == "parley/low"
    await tick_of(services).once()
    url = f"{EVALUATIONS}/{evaluation['id']}/attempts"

    async def listed(**query: Any) -> list[tuple[str, int]]:
        rows = (await client.get(url, headers=tenant.auth, params=query)).json()["data"]
        return [(row["case_id"], row["repetition"]) for row in rows]

    assert await listed() == [("greets", 1), ("twice", 1), ("twice", 2)]
    assert await listed(case="twice", repetition=2) == [("twice", 2)]
    assert await listed(status="passed") == []
    assert await listed(limit=1, offset=1) == [("twice", 1)]
    [first, *_] = (await client.get(url, headers=tenant.auth)).json()["data"]
    assert (first["state"], first["target"], first["status"], first["judge_cost"]) == (
        "queued",
        "gateway",
        None,
        None,
    )
    whole = (await client.get(f"{url}/{first['id']}", headers=tenant.auth)).json()["data"]
    assert (whole["record"], whole["suite_revision"]) == (None, suite["script"]["revision"])

    reader = await make_key(services.database, tenant.account_id, scopes=["tests:read"])
    writer = await make_key(services.database, tenant.account_id, scopes=["evaluations:write"])
    for path in (url, f"{url}/{first['id']}"):
        tried = [{}, tenant.public.auth, writer.auth, stranger.auth, reader.auth]
        statuses = [(await client.get(path, headers=headers)).status_code for headers in tried]
        assert statuses == [401, 403, 403, 404, 200], path
    assert (await client.get(f"{url}/{evaluation['id']}", headers=tenant.auth)).status_code == 404


async def test_what_is_played_elsewhere_is_not_started_here(
    client: httpx.AsyncClient, tenant: Tenant
) -> None:
    body = {"name": "Mine", "script": {"suite": YAML, "target": {"type": "process"}}}
    suite = await posted(client, tenant, URL, body)
    refused = await posted(client, tenant, f"{URL}/{suite['id']}/evaluations", {}, 400)
    assert refused["details"][0]["field"] == "script.target"
    strange = await posted(client, tenant, f"{URL}/{suite['id']}/evaluations", {"cases": ["nobody"]}, 400)
    assert strange["details"][0]["field"] == "cases"
