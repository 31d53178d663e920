"""The demo's gateway and tests, made through the REST API, and their runs, shown while they happen."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
from rich.console import Console

from parley.server.llm.demo.stories import definition_bodies, gateway_body
from parley.server.ops.local.errors import LocalStackError
from parley.server.ops.local.home import DevFile
from parley.server.ops.local.show import Telling

GATEWAYS = "/api/v1/ai-gateways"
TESTS = "/api/v1/agentic-tests"
_RECONNECTS = 5
_SILENCE_S = 60.0
"""The server sends a comment at least every 30 s."""
_STALLED_S = 120.0
"""Without an event for so long a run is stuck: an llm has to begin within 60 s, and is asked again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoTest:
    """A stored demo test."""

    id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """What the demo consists of, as it is stored."""

    gateway: str
    """Its slug."""
    tests: tuple[DemoTest, ...]


class DemoClient:
    """The REST API with the local account's key."""

    def __init__(self, dev_file: DevFile, transport: httpx.BaseTransport | None = None) -> None:
        self._http = httpx.Client(
            base_url=dev_file.url,
            headers={"Authorization": f"Bearer {dev_file.private_key}"},
            timeout=httpx.Timeout(10.0, read=_SILENCE_S),
            trust_env=False,
            transport=transport,
        )

    def install(self, llm_base_url: str) -> Demo:
        """Make the demo's gateway and tests, or find them, and bring the gateway's address up to date."""
        gateway = str(self._gateway(gateway_body(llm_base_url))["slug"])
        known = {test["name"]: test["id"] for test in self._all(TESTS)}
        tests = []
        for body in definition_bodies(gateway):
            test_id = known.get(body["name"]) or self._ask("POST", TESTS, body)["id"]
            tests.append(DemoTest(id=test_id, name=body["name"]))
        return Demo(gateway=gateway, tests=tuple(tests))

    def sign_in_link(self) -> str:
        """A link that opens the dashboard, once, within 5 minutes. Raises `LocalStackError`."""
        url: str = self._ask("POST", "/api/v1/session/links")["url"]
        return url

    def run(self, test: DemoTest, tell: Callable[[str, dict[str, Any]], bool]) -> None:
        """Start a run and hand its events to `tell`, until that returns True."""
        run_id = self._ask("POST", f"{TESTS}/{test.id}/runs")["id"]
        last_id = ""
        for _ in range(_RECONNECTS):
            try:
                for event_id, kind, data in self._events(f"{TESTS}/{test.id}/runs/{run_id}/events", last_id):
                    last_id = event_id
                    if tell(kind, data):
                        return
            except httpx.TransportError:
                continue
        raise LocalStackError(f"The events of run {run_id} broke off.")

    def _gateway(self, body: dict[str, Any]) -> dict[str, Any]:
        found = next((one for one in self._all(GATEWAYS) if one["name"] == body["name"]), None)
        if found is None:
            return self._ask("POST", GATEWAYS, body)
        if found["base_url"] == body["base_url"]:
            return found
        return self._ask("PATCH", f"{GATEWAYS}/{found['id']}", {"base_url": body["base_url"]})

    def _all(self, path: str) -> Iterator[dict[str, Any]]:
        offset, has_more = 0, True
        while has_more:
            answer = self._answer("GET", path, params={"limit": 100, "offset": offset}).json()
            yield from answer["data"]
            offset, has_more = offset + 100, answer["page"]["has_more"]

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        data: dict[str, Any] = self._answer(method, path, json=body).json()["data"]
        return data

    def _answer(self, method: str, path: str, **about: Any) -> httpx.Response:
        try:
            answer = self._http.request(method, path, **about)
        except httpx.TransportError as error:
            told = str(error).rstrip(".")
            raise LocalStackError(f"The API did not answer {method} {path}: {told}.") from error
        if answer.is_error:
            raise _refused(method, path, answer)
        return answer

    def _events(self, path: str, last_id: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Id, type and data of each event."""
        headers = {"Last-Event-ID": last_id} if last_id else {}
        with self._http.stream("GET", path, headers=headers) as answer:
            if answer.is_error:
                answer.read()
                raise _refused("GET", path, answer)
            heard_s = time.monotonic()
            for line in answer.iter_lines():
                field, _, value = line.partition(": ")
                if field == "" and time.monotonic() - heard_s > _STALLED_S:
                    raise LocalStackError(
                        "A demo run is stuck; logs/worker.log in the data folder may tell why."
                    )
                if field == "id":
                    last_id = value
                elif field == "data":
                    heard_s = time.monotonic()
                    event = json.loads(value)["event"]
                    yield last_id, event["type"], event["data"]


class DemoShow:
    """Runs the demo tests one after another in a thread, so that the stack is watched meanwhile."""

    def __init__(self, client: DemoClient, demo: Demo, console: Console) -> None:
        self._client = client
        self._tests = demo.tests
        self._console = console
        self._trouble: Exception | None = None
        self._telling = Telling(console)
        self._is_stopped = False
        self._printing = threading.Lock()
        """Held while something is shown, so that nothing is shown after a stop."""
        self._thread = threading.Thread(target=self._run, name="demo", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wait(self) -> None:
        """Until it is over, well or not."""
        self._thread.join()

    def stop(self) -> None:
        """Show nothing more, and begin nothing; an unfinished line is ended."""
        with self._printing:
            self._is_stopped = True
            self._telling.interrupt()

    def is_over(self) -> bool:
        """Whether all were shown. Raises what went wrong in showing them, mostly `LocalStackError`."""
        has_ended = not self._thread.is_alive()
        if self._trouble is not None:
            raise self._trouble
        return has_ended

    def _run(self) -> None:
        try:
            for number, test in enumerate(self._tests, start=1):
                if not self._begin(f"{number}/{len(self._tests)} {test.name}"):
                    return
                self._show(test)
        except Exception as trouble:
            if not self._is_stopped:
                self._trouble = trouble

    def _begin(self, title: str) -> bool:
        """Show the title of the next test; False after a stop."""
        with self._printing:
            if self._is_stopped:
                return False
            self._console.rule(title, align="left")
            self._telling = Telling(self._console)
            return True

    def _show(self, test: DemoTest) -> None:
        self._client.run(test, self._tell)
        if self._telling.failure is not None:
            raise LocalStackError(f"The demo test {test.name!r} had no verdict: {self._telling.failure}")

    def _tell(self, kind: str, data: dict[str, Any]) -> bool:
        with self._printing:
            if self._is_stopped:
                return True
            self._telling.tell(kind, data)
            return self._telling.is_over


def _refused(method: str, path: str, answer: httpx.Response) -> LocalStackError:
    said = f"{method} {path} answered {answer.status_code}: {answer.text[:500]}"
    return LocalStackError(f"The demo cannot go on; logs/api.log in the data folder may tell why. {said}")


def curl_line(dev_file: DevFile, demo: Demo) -> str:
    """A direct evaluation to try, streamed, with nothing stored; lines that a shell takes as one."""
    body = json.dumps({"model": demo.gateway, "goal": "You want to exchange a jacket.", "max_turns": 2})
    return " \\\n    ".join(
        (
            f"curl -N {dev_file.url}/api/v1/generations/agentic-tests",
            f"-H 'Authorization: Bearer {dev_file.private_key}'",
            "-H 'Content-Type: application/json'",
            f"-d '{body}'",
        )
    )
