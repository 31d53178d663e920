"""One suite against one agent: the same verdicts, counts and evidence, whoever plays it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from parley.engine.script.record import AttemptRecord
from parley.engine.script.status import counts_of
from tests.factories.remote_apps import SERVICE_KEY, app_served
from tests.integration.suites.scene import EVALUATIONS, URL, begin, ended
from tests.integration.suites.script_scene import SUITE, agent_plays, essence, evals_of, target_of
from tests.receivers import Receiver, receiving
from tests.stage import Stage

Way: TypeAlias = Callable[[Stage, Receiver], Awaitable[list[AttemptRecord]]]


async def in_process(stage: Stage) -> list[AttemptRecord]:
    """The customer's own process plays."""
    run = await evals_of(stage).run(concurrency=1)
    return list(run.attempts)


async def by_endpoint(stage: Stage, receiver: Receiver) -> list[AttemptRecord]:
    """The service plays against a gateway."""
    script = {"suite": SUITE, "target": target_of(stage, receiver)}
    answer = await stage.http.post(URL, json={"name": "Refunds", "script": script})
    assert answer.status_code == 201, answer.text
    async with stage.worker():
        evaluation = await ended(stage, await begin(stage, answer.json()["data"]["id"], concurrency=1))
    assert evaluation["state"] == "completed", evaluation
    return await attempts(stage, evaluation["id"])


async def by_the_app(stage: Stage, _receiver: Receiver) -> list[AttemptRecord]:
    """The service has the customer's own app play."""
    route = evals_of(stage).asgi(service_key=SERVICE_KEY)
    async with app_served(route) as url:
        app = {"name": "Shop", "url": url, "service_key": SERVICE_KEY}
        registered = (await stage.http.post("/api/v1/apps", json=app)).json()["data"]
        script = {"suite": SUITE, "target": {"type": "app", "app": registered["slug"]}}
        answer = await stage.http.post(URL, json={"name": "Refunds", "script": script})
        assert answer.status_code == 201, answer.text
        async with stage.worker():
            evaluation = await ended(stage, await begin(stage, answer.json()["data"]["id"], concurrency=1))
    assert evaluation["state"] == "completed", evaluation
    return await attempts(stage, evaluation["id"])


async def attempts(stage: Stage, evaluation_id: str) -> list[AttemptRecord]:
    """The records of an evaluation, in the order of the cases."""
    path = f"{EVALUATIONS}/{evaluation_id}/attempts"
    listed: Any = await stage.read(path)
    whole = [await stage.read(f"{path}/{one['id']}") for one in listed]
    return [AttemptRecord.of_wire(one["record"]) for one in whole]


async def test_every_way_gives_the_same(stage: Stage) -> None:
    async with receiving() as receiver:
        stage.play(*agent_plays())
        wanted = [essence(one) for one in await in_process(stage)]
        assert [one["status"] for one in wanted] == ["passed", "failed", "failed"]
        for way in (by_endpoint, by_the_app):
            stage.play(*agent_plays())
            found = await way(stage, receiver)
            assert [essence(one) for one in found] == wanted
            assert counts_of(one.status for one in found) == counts_of(one["status"] for one in wanted)
