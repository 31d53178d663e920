"""An app with a remote route, and a service's side of the talk with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx

from parley.engine.script.draft import AttemptPlan
from parley.engine.script.following import Followed
from parley.engine.script.protocol import EventPage
from parley.engine.script.record import AttemptRecord, JudgeIdentity
from parley.engine.script.revision import effective_evidence, suite_revision
from parley.sdk.evals import Evals, HostTimes, RemoteApp

KEY = "a-service-key-of-more-than-32-characters"
AUTH = {"Authorization": f"Bearer {KEY}"}
QUICK = HostTimes(lease_s=2, renew_s=0.05, close_s=2)


def plan_of(
    evals: Evals, attempt_id: str = "attempt-1", judge: JudgeIdentity | None = None, **changes: Any
) -> AttemptPlan:
    """What the service means to have played."""
    (suite,) = evals.list_suites()
    given: dict[str, Any] = {
        "suite": suite,
        "case": suite.cases[0],
        "revision": suite_revision(suite),
        "evidence": effective_evidence(suite),
        "attempt_id": attempt_id,
        "session_id": f"session of {attempt_id}",
        "judge": judge,
    }
    return AttemptPlan(**{**given, **changes})


def asked(plan: AttemptPlan, instance: str) -> dict[str, Any]:
    """The body that admits `plan`."""
    body: dict[str, Any] = {
        "protocolVersion": 1,
        "instance": instance,
        "attemptId": plan.attempt_id,
        "sessionId": plan.session_id,
        "suiteId": plan.suite.id,
        "suiteRevision": plan.revision,
        "caseId": plan.case.id,
        "repetition": plan.repetition,
    }
    judge = {"judge": plan.judge.wire()} if plan.judge else {}
    return {**body, **judge}


class Service:
    """Talks to the route as the service does."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    async def instance(self) -> str:
        return str((await self.get("manifest"))["instance"])

    async def get(self, path: str, status: int = 200) -> dict[str, Any]:
        return answered(await self.client.get(path), status)

    async def admit(self, plan: AttemptPlan, status: int = 202, **changes: Any) -> dict[str, Any]:
        body = {**asked(plan, await self.instance()), **changes}
        return answered(await self.client.post("attempts", json=body), status)

    async def cancel(self, attempt_id: str, status: int = 202) -> dict[str, Any]:
        return answered(await self.client.delete(f"attempts/{attempt_id}"), status)

    async def page(self, attempt_id: str, cursor: int = 0, wait: int = 5) -> EventPage:
        return EventPage.of_wire(await self.get(f"attempts/{attempt_id}/events?cursor={cursor}&wait={wait}"))

    async def follow(self, plan: AttemptPlan) -> Followed:
        """All its events, as far as the last."""
        followed = Followed(plan=plan)
        while followed.record is None:
            page = await self.page(plan.attempt_id, followed.cursor)
            assert page.error is None, page.error
            for told in page.events:
                followed.take(told)
        return followed

    async def played(self, plan: AttemptPlan) -> AttemptRecord:
        """Its record, checked as the service does."""
        await self.admit(plan)
        record = (await self.follow(plan)).record
        assert record
        return record


def answered(response: httpx.Response, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text
    found: dict[str, Any] = response.json()
    return found


@asynccontextmanager
async def served(
    app: RemoteApp, mounted: Any = None, headers: Mapping[str, str] = AUTH, at: str = ""
) -> AsyncIterator[Service]:
    """The route in memory, by itself or `mounted` in another app."""
    transport = httpx.ASGITransport(mounted or app, raise_app_exceptions=True)
    url = f"http://app.test{at}/"
    async with httpx.AsyncClient(transport=transport, base_url=url, headers=headers, timeout=30) as client:
        try:
            yield Service(client)
        finally:
            await app.aclose()
