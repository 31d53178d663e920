"""Who sees what: canaries in every text, looked for in requests, logs, events, rows and exports."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from parley.server.db.tables import Table
from parley.server.llm.demo import Rule, Status, opinion
from tests.stage import Stage, client_of

GOAL, CRITERIA, RESOURCE, NAME = "goal-canary-1", "criteria-canary-2", "resource-canary-3", "name-canary-4"
GATEWAY_KEY, HEADER = "gateway-key-canary-5", "header-canary-6"
OPERATOR_KEY = "operator-llm-key-canary"
FIELDS: dict[str, Any] = {
    "name": NAME,
    "goal": f"Find out about {GOAL}.",
    "validation_criteria": f"It has {CRITERIA}.",
    "resources": [{"type": "Text", "data": RESOURCE}],
    "max_turns": 3,
    "profile": "low",
    "seed": 7,
}


async def secretive_gateway(stage: Stage) -> str:
    answer = await stage.http.post(
        "/api/v1/ai-gateways",
        json={
            "name": "Secretive",
            "base_url": stage.llms.base_url,
            "model": "assistant",
            "api_key": GATEWAY_KEY,
            "headers": {"X-Tenant": HEADER},
        },
    )
    assert answer.status_code == 201, answer.text
    slug: str = answer.json()["data"]["slug"]
    return slug


async def told_to(stage: Stage, direct: bool) -> dict[str, str]:
    """Everything that each llm was sent, headers included."""
    gateway = await secretive_gateway(stage)
    if direct:
        fields = {key: value for key, value in FIELDS.items() if key != "name"}
        await stage.evaluated(**fields, model=gateway)
    else:
        async with stage.worker():
            run = await stage.finished(await stage.start(await stage.make_test(**FIELDS, gateway=gateway)))
        assert run["state"] == "succeeded"
    return {
        llm: "\n".join(f"{one.headers} {one.raw.decode()}" for one in stage.llms.requests if one.llm == llm)
        for llm in ("user", "assistant", "judge")
    }


@pytest.mark.parametrize("direct", [False, True], ids=["persisted", "direct"])
async def test_each_party_is_told_its_own_and_nothing_else(stage: Stage, direct: bool) -> None:
    sent = await told_to(stage, direct)
    seen = {
        canary: {llm for llm, text in sent.items() if canary in text}
        for canary in (GOAL, CRITERIA, RESOURCE, NAME, GATEWAY_KEY, HEADER, OPERATOR_KEY)
    }
    assert seen == {
        GOAL: {"user", "judge"},
        CRITERIA: {"judge"},
        RESOURCE: {"user", "judge"},
        NAME: set(),
        GATEWAY_KEY: {"assistant"},
        HEADER: {"assistant"},
        OPERATOR_KEY: {"user", "judge"},
    }


async def test_secrets_reach_no_log_no_event_no_row_and_no_export(
    stage: Stage, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also where a provider answers with the key it was sent."""
    caplog.set_level(logging.DEBUG)
    echo = Status(500, body=f'{{"error": {{"message": "bad key {GATEWAY_KEY} in {HEADER}"}}}}')
    stage.play(
        Rule((echo, Status(401, body=f"no {GATEWAY_KEY}")), part="assistant", turn=2),
        Rule((opinion(0.5),), part="judge"),
    )
    gateway = await secretive_gateway(stage)
    async with stage.worker():
        path = await stage.start(await stage.make_test(**FIELDS, gateway=gateway))
        live = await stage.recorded(path)
        replayed = await stage.recorded(path)
    direct = await stage.evaluated(
        **{key: value for key, value in FIELDS.items() if key != "name"}, model=gateway
    )
    async with client_of(stage.url, {}) as client:
        answer = await client.get(path, params={"api-key": stage.tenant.private.token})
    assert answer.status_code == 200
    export = (await stage.http.get(f"{path}/export")).text
    assert '"gateway_inference"' in export, "the provider's words were met"
    printed = capfd.readouterr()
    told = {
        "logs": "\n".join(
            record.getMessage() + repr(record.__dict__)
            for record in caplog.records
            if not record.name.startswith(("httpx", "httpcore"))  # the test's own client
        ),
        "printed": printed.out + printed.err,
        "live": live.raw.decode(),
        "replayed": replayed.raw.decode(),
        "direct": direct.raw.decode(),
        "export": export,
        "detail": (await stage.http.get(path)).text,
    }
    for table in Table.metadata.sorted_tables:
        rows = await stage.rows(f'SELECT t::text AS line FROM "{table.name}" AS t')
        told[table.name] = "\n".join(row["line"] for row in rows)
    secrets = (
        *(GATEWAY_KEY, HEADER, OPERATOR_KEY),
        *(stage.tenant.private.token, stage.tenant.public.token),
    )
    for secret in secrets:
        assert [place for place, text in told.items() if secret in text] == [], secret
    assert "request" in told["logs"], "logs were looked at"
