"""The service with a remote app: it is not believed, nothing is played twice, evidence is kept."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from parley.sdk.evals import Capacity, Evals, RemoteApp, Turn, function_agent
from parley.server.config import AppsSettings, Settings
from tests.factories.remote_apps import SERVICE_KEY, app_served
from tests.integration.attempts.crooked import TWISTS, Crooked
from tests.integration.suites.scene import EVALUATIONS, URL, begin, ended, results
from tests.stage import Stage, hurried, until

APPS = "/api/v1/apps"


@pytest.fixture
def lost_s() -> float:
    """How long an app may be silent; a process of its own takes a while to come back."""
    return 40.0


@pytest.fixture
def stage_settings(settings: Settings, lost_s: float) -> Settings:
    apps = AppsSettings(call_timeout_s=1.5, wait_s=1, unknown_s=0.5, lost_s=lost_s)
    return dataclasses.replace(hurried(settings), apps=apps)


def case(case_id: str, *messages: str, **fields: Any) -> dict[str, Any]:
    """A case whose last answer must hold "end"."""
    steps = [{"message": message, "expect": {"type": "answer"}} for message in messages]
    steps[-1]["expect"]["text"] = {"contains": ["end"]}  # type: ignore[index]
    return {"id": case_id, "steps": steps, **fields}


async def registered(stage: Stage, url: str) -> str:
    """The slug of an app at `url`."""
    body = {"name": "Shop", "url": url, "service_key": SERVICE_KEY}
    answer = await stage.http.post(APPS, json=body)
    assert answer.status_code == 201, answer.text
    slug: str = answer.json()["data"]["slug"]
    return slug


async def begun(stage: Stage, url: str, suite: dict[str, Any], **how: Any) -> str:
    """An evaluation of `suite` by the app at `url`; gives its id."""
    script = {"suite": suite, "target": {"type": "app", "app": await registered(stage, url)}, **how}
    answer = await stage.http.post(URL, json={"name": "Remote", "script": script})
    assert answer.status_code == 201, answer.text
    return await begin(stage, answer.json()["data"]["id"], concurrency=20)


async def attempts(stage: Stage, evaluation_id: str) -> dict[str, dict[str, Any]]:
    """The attempts of an evaluation with their records, by case."""
    path = f"{EVALUATIONS}/{evaluation_id}/attempts"
    listed: Any = await stage.read(f"{path}?limit=100")
    whole = [await stage.read(f"{path}/{one['id']}") for one in listed]
    return {one["case_id"]: one for one in whole}


def codes(attempt: dict[str, Any]) -> list[str]:
    return [error["code"] for error in attempt["record"]["errors"]]


@pytest.mark.parametrize("lost_s", [2.0])
async def test_crooked_app_is_found_out_and_siblings_go_on(stage: Stage) -> None:
    others = ("honest", "redirect", "forgotten", "dripping")
    suite = {"id": "crooked", "cases": [case(name, "hello", "again") for name in (*TWISTS, *others)]}
    suite["cases"][len(TWISTS)]["steps"][-1]["message"] = "the end"  # type: ignore[index]
    route = Evals(agent=function_agent(lambda text: text), suites=[suite]).asgi(service_key=SERVICE_KEY)
    app = Crooked(route)
    async with app_served(app) as url, stage.worker():
        evaluation = await ended(stage, await begun(stage, url, suite))
        found = await attempts(stage, evaluation["id"])
        await route.aclose()
    assert evaluation["state"] == "completed"
    assert found["honest"]["status"] == "passed", found["honest"]
    for name, (_, says) in TWISTS.items():
        assert (found[name]["status"], codes(found[name])) == ("error", ["app_unreadable"]), found[name]
        assert says in found[name]["record"]["errors"][0]["message"], found[name]["record"]["errors"]
    assert {name: codes(found[name]) for name in others[1:]} == {
        "redirect": ["app_unreadable"],
        "forgotten": ["app_lost"],
        "dripping": ["app_lost"],
    }
    assert {*TWISTS, "redirect", "dripping"} <= app.cancelled, "what is not followed is called off"
    assert app.manifests <= len(found) / 2, "an offer is read once for many"
    skipped = [one for one in await results(stage, evaluation["id"]) if one["status"] == "skipped"]
    assert len(skipped) == len(found) - 1, "none of it says anything about the agent"


class Shop:
    """An app whose agent waits in the second message until it is let go; and what it was asked."""

    def __init__(self, **case_fields: Any) -> None:
        self.asked: list[str] = []
        self.torn_down: list[str] = []
        self.go_on = asyncio.Event()
        self.suite = {
            "id": "shop",
            "cases": [
                case("waits", "first", "wait for the end", **case_fields),
                case("quick", "the end"),
            ],
        }

    async def agent(self, turn: Turn) -> str:
        self.asked.append(turn.text or "")
        if "wait" in self.asked[-1]:
            await self.go_on.wait()
        return self.asked[-1]

    def route(self, capacity: Capacity | None = None) -> RemoteApp:
        evals = Evals(
            agent=self.agent,
            suites=[self.suite],
            teardown=lambda context: self.torn_down.append(context.case.id),
        )
        return evals.asgi(service_key=SERVICE_KEY, capacity=capacity)


async def state_of(stage: Stage, case_id: str) -> dict[str, Any]:
    """The row of an attempt."""
    rows = await stage.rows("SELECT * FROM attempts WHERE case_id = $1", case_id)
    return rows[0] if rows else {"state": None, "record": None, "contact": None, "cursor": 0}


async def has_first_step(stage: Stage) -> bool:
    row = await state_of(stage, "waits")
    return bool(row["record"] and len(row["record"]["steps"]) == 1)


@pytest.mark.parametrize("is_killed", [False, True], ids=["restarted", "killed"])
async def test_service_that_comes_back_goes_on_by_its_cursor_and_nothing_is_played_twice(
    stage: Stage, is_killed: bool
) -> None:
    shop = Shop()
    route = shop.route()
    looks: list[str] = []

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        looks.append(f"{scope.get('path')}?{scope.get('query_string', b'').decode()}")
        await route(scope, receive, send)

    async with app_served(noting) as url:
        async with stage.worker() as worker:
            evaluation_id = await begun(stage, url, shop.suite)
            await until(lambda: has_first_step(stage))
            if is_killed:
                await worker.kill()
                await worker.worker._attempts.close()
        before = await state_of(stage, "waits")
        assert before["state"] == "running"
        assert before["cursor"] > 0
        looks.clear()
        shop.go_on.set()
        async with stage.worker():
            await ended(stage, evaluation_id)
        await route.aclose()
    found = await attempts(stage, evaluation_id)
    assert [one["status"] for one in found.values()] == ["passed", "passed"]
    assert sorted(shop.asked) == ["first", "the end", "wait for the end"]
    assert (await state_of(stage, "waits"))["takes"] == (2 if is_killed else 1)
    asked_for = [look for look in looks if str(before["id"]) in look]
    assert asked_for[0].endswith(f"/events?cursor={before['cursor']}&wait=1")


async def test_app_that_is_away_is_shown_so_and_waited_for(stage: Stage) -> None:
    shop = Shop()
    route = shop.route()
    away = False

    async def sometimes(scope: Any, receive: Any, send: Any) -> None:
        if away and scope["type"] == "http":
            await send({"type": "http.response.start", "status": 502, "headers": []})
            await send({"type": "http.response.body", "body": b""})
        else:
            await route(scope, receive, send)

    async def shows(contact: str | None) -> None:
        async def is_shown() -> bool:
            return bool((await state_of(stage, "waits"))["contact"] == contact)

        await until(is_shown)

    async with app_served(sometimes) as url, stage.worker():
        away = True
        evaluation_id = await begun(stage, url, shop.suite)
        await shows("retrying")
        away = False
        await until(lambda: has_first_step(stage))
        away = True
        await shows("reconnecting")
        await shows("unknown")
        away = False
        await shows(None)
        shop.go_on.set()
        await ended(stage, evaluation_id)
        await route.aclose()
    assert {one["status"] for one in (await attempts(stage, evaluation_id)).values()} == {"passed"}
    assert sorted(shop.asked) == ["first", "the end", "wait for the end"]


async def test_cancel_reaches_what_runs_in_the_app_and_what_still_waits_for_a_place(stage: Stage) -> None:
    shop = Shop()
    shop.suite["cases"] = [case(name, "first", "wait for the end") for name in ("one", "another")]
    route = shop.route(Capacity(concurrent=1, queued=0))

    async def stands() -> bool:
        rows = await stage.rows("SELECT contact, record IS NULL AS is_new FROM attempts ORDER BY contact")
        return [tuple(row.values()) for row in rows] == [("retrying", True), (None, False)]

    async def all_over() -> bool:
        return not await stage.rows("SELECT id FROM attempts WHERE state <> 'finished'")

    async with app_served(route) as url, stage.worker():
        evaluation_id = await begun(stage, url, shop.suite)
        await until(stands)
        answer = await stage.http.post(f"{EVALUATIONS}/{evaluation_id}/cancel")
        assert answer.status_code in (200, 202), answer.text
        await until(all_over)
        await route.aclose()
    statuses = [row["status"] for row in await stage.rows("SELECT status FROM attempts")]
    assert statuses == ["cancelled", "cancelled"]
    assert (shop.asked.count("first"), len(shop.torn_down)) == (1, 1)


async def test_app_that_offers_something_else_is_not_asked(stage: Stage) -> None:
    shop, other = Shop(), Shop()
    other.suite["cases"].pop()  # type: ignore[attr-defined]
    route = other.route()
    async with app_served(route) as url, stage.worker():
        evaluation = await ended(stage, await begun(stage, url, shop.suite))
        await route.aclose()
    found = await attempts(stage, evaluation["id"])
    assert {tuple(codes(one)) for one in found.values()} == {("app_refused",)}
    assert "take the suite over again" in found["quick"]["reason"]
    assert other.asked == []


class Kind:
    """A judge of the app's own."""

    id = "kind"

    def __init__(self, version: str) -> None:
        self.version = version

    def grade(self, _request: Any) -> dict[str, Any]:
        return {"passed": True, "reason": "Fine.", "evidence": []}


async def test_judge_of_the_app_is_known_by_a_check_and_pinned(stage: Stage) -> None:
    judged = case("judged", "the end")
    judged["steps"][0]["expect"]["criteria"] = ["Is kind."]
    suite = {"id": "judged", "cases": [judged]}
    agent = function_agent(lambda text: text)
    routes = [
        Evals(agent=agent, suites=[suite], judge=Kind(version)).asgi(service_key=SERVICE_KEY)
        for version in ("1", "2")
    ]
    deployed = 0

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await routes[deployed](scope, receive, send)

    async with app_served(app) as url, stage.worker():
        slug = await registered(stage, url)
        script = {"suite": suite, "target": {"type": "app", "app": slug}, "judge": "app"}
        made = (await stage.http.post(URL, json={"name": "Judged", "script": script})).json()["data"]
        early = await stage.http.post(f"{URL}/{made['id']}/evaluations")
        assert (early.status_code, "before the app was checked" in early.text) == (400, True)
        [row] = await stage.rows("SELECT id FROM remote_apps")
        assert (await stage.http.post(f"{APPS}/{row['id']}/check")).json()["data"]["ok"]
        before = (await ended(stage, await begin(stage, made["id"])))["id"]
        deployed = 1
        later = (await ended(stage, await begin(stage, made["id"])))["id"]
        for route in routes:
            await route.aclose()
    first, second = [(await attempts(stage, one))["judged"] for one in (before, later)]
    assert (first["status"], first["record"]["judge"]["location"]) == ("passed", "app")
    assert codes(second) == ["app_refused"]
    assert "judge" in second["reason"]


APP = """
import asyncio, os, sys, uvicorn
from parley.sdk.evals import Evals, HostTimes, PostgresStore

async def agent(turn):
    print("asked", turn.text, flush=True)
    if "wait" in turn.text and "CALM" not in os.environ:
        await asyncio.sleep(60)
    return turn.text

evals = Evals(agent=agent, suites=["suite.json"])
store = PostgresStore(os.environ["DSN"], "shop")
app = evals.asgi(service_key=os.environ["KEY"], store=store, times=HostTimes(lease_s=1.0, renew_s=0.2))
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
"""


@contextmanager
def app_process(folder: Path, port: int, dsn: str, **more: str) -> Iterator[subprocess.Popen[str]]:
    """An app in a process of its own."""
    environment = {**os.environ, "DSN": dsn, "KEY": SERVICE_KEY, **more}
    process = subprocess.Popen(
        [sys.executable, "app.py", str(port)],
        cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


async def listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


async def test_app_killed_in_mid_attempt_ends_it_as_error_with_its_evidence_and_siblings_go_on(
    stage: Stage, tmp_path: Path, unused_tcp_port: int, database_url: str
) -> None:
    shop = Shop()
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "suite.json").write_text(json.dumps(shop.suite))
    url = f"http://127.0.0.1:{unused_tcp_port}"
    async with stage.worker():
        with app_process(tmp_path, unused_tcp_port, database_url) as process:
            await until(lambda: listens(unused_tcp_port), timeout_s=40)
            evaluation_id = await begun(stage, url, shop.suite)
            await until(lambda: has_first_step(stage))
            process.send_signal(signal.SIGKILL)
            told, complaints = await asyncio.to_thread(process.communicate)
            assert "asked wait" in told, complaints
        with app_process(tmp_path, unused_tcp_port, database_url, CALM="1") as again:
            await ended(stage, evaluation_id)
            again.send_signal(signal.SIGTERM)
            told, _ = await asyncio.to_thread(again.communicate)
    assert "first" not in told, "what was lost is not played again"
    found = await attempts(stage, evaluation_id)
    assert (found["waits"]["status"], codes(found["waits"])) == ("error", ["lease_lost"])
    assert [step["status"] for step in found["waits"]["record"]["steps"]] == ["passed"]
    assert found["quick"]["status"] == "passed"
    scored = {one["case_id"]: one["status"] for one in await results(stage, evaluation_id)}
    assert scored == {"waits": "skipped", "quick": "rated"}, "the agent is not blamed"
