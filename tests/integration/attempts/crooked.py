"""An app that plays honestly and then tells something else: each case is crooked in the way of its id."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, TypeAlias

Twist: TypeAlias = Callable[[dict[str, Any]], None]


def _last(page: dict[str, Any]) -> dict[str, Any]:
    """The record, where the page has it."""
    found = [
        one["event"].get("attempt") for one in page["events"] if one["event"]["type"] == "case-completed"
    ]
    return found[0] if found else {}


def _record(**changes: Any) -> Twist:
    def twist(page: dict[str, Any]) -> None:
        if record := _last(page):
            record.update(changes)

    return twist


def _lie_about_a_check(page: dict[str, Any]) -> None:
    for one in page["events"]:
        told = one["event"]
        for step in [told.get("step"), *told.get("attempt", {}).get("steps", ())]:
            if step:
                step["status"] = "passed"
                for check in step["checks"]:
                    check["passed"] = True
    if record := _last(page):
        record["status"] = "passed"


def _swap_steps(page: dict[str, Any]) -> None:
    steps = [one["event"]["step"] for one in page["events"] if "step" in one["event"]]
    for step in steps:
        step["index"] = 1 - step["index"]


def _skip_an_event(page: dict[str, Any]) -> None:
    for one in page["events"]:
        one["cursor"] += 1


def _begin_twice(page: dict[str, Any]) -> None:
    for one in page["events"][1:2]:
        one["event"] = page["events"][0]["event"]


def _keep_the_record(page: dict[str, Any]) -> None:
    page["events"] = [one for one in page["events"] if one["event"]["type"] != "case-completed"]


def _swell(page: dict[str, Any]) -> None:
    page["events"][0]["event"]["attempt"]["steps"] = ["x" * 6_000_000]


TWISTS: dict[str, tuple[Twist, str]] = {
    "another-id": (_record(attemptId="another"), "attempt_id is 'another'"),
    "another-session": (_record(sessionId="another"), "session_id is 'another'"),
    "another-revision": (_record(suiteRevision="0" * 64), "suite_revision is"),
    "another-judge": (_record(judge={"id": "x", "versionHash": "y", "location": "app"}), "judge is"),
    "status-lie": (_record(status="passed"), "status is passed and should be failed"),
    "check-lie": (_lie_about_a_check, "checks do not follow from its observation"),
    "steps-missing": (_record(steps=[]), "the steps are not those that were told"),
    "order": (_swap_steps, "out of its order"),
    "gap": (_skip_an_event, "event 2 came after event 0"),
    "twice": (_begin_twice, "it began twice"),
    "no-record": (_keep_the_record, "it is done and gave no record"),
    "swollen": (_swell, "larger than 5,000,000 bytes"),
    "absurd-time": (_record(durationMs=10**30), "durationMs must be at most"),
    "absurd-cost": (_record(usage={"costUsd": "9" * 30}), "usage.costUsd"),
    "unknown-key": (lambda page: page.update(more=1), "otherwise than the protocol"),
}
"""By case id: what is done to a page of events, and what the service says of it."""


class Crooked:
    """Wraps a route. `redirect`, `forgotten` and `dripping` are cases that answer otherwise than by pages."""

    def __init__(self, route: Any) -> None:
        self._route = route
        self._cases: dict[str, str] = {}
        self.cancelled: set[str] = set()
        """Cases that the service called off."""
        self.manifests = 0
        """How often it was asked what it offers."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"].strip("/").split("/") if scope["type"] == "http" else []
        case = self._cases.get(path[1], "") if len(path) > 1 else ""
        self.manifests += path == ["manifest"]
        if scope["type"] == "http" and scope["method"] == "POST":
            receive = self._noting(receive)
        if scope["type"] == "http" and scope["method"] == "DELETE":
            self.cancelled.add(case)
        if path[-1:] != ["events"] or case in ("", "honest"):
            await self._route(scope, receive, send)
        elif case == "redirect":
            await _answer(send, 302, b"", (b"location", b"http://127.0.0.1:1/"))
        elif case == "forgotten":
            error = {"error": {"code": "attempt_unknown", "message": "No such attempt."}}
            await _answer(send, 404, json.dumps(error).encode())
        elif case == "dripping":
            await _drip(send)
        else:
            await self._twisted(scope, receive, send, TWISTS[case][0])

    def _noting(self, receive: Any) -> Any:
        async def read() -> Any:
            message = await receive()
            body = json.loads(message["body"])
            self._cases[body["attemptId"]] = body["caseId"]
            return message

        return read

    async def _twisted(self, scope: Any, receive: Any, send: Any, twist: Twist) -> None:
        sent: list[Any] = []

        async def keep(message: Any) -> None:
            sent.append(message)

        await self._route(scope, receive, keep)
        page = json.loads(sent[1]["body"])
        if page.get("events"):
            twist(page)
        await _answer(send, sent[0]["status"], json.dumps(page).encode())


async def _answer(send: Any, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [length, *headers]})
    await send({"type": "http.response.body", "body": body})


async def _drip(send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(100):
        await send({"type": "http.response.body", "body": b" ", "more_body": True})
        await asyncio.sleep(0.2)
