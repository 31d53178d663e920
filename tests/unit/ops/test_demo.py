import io
import json
import shlex
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from rich.console import Console

from parley.server.llm.demo.stories import STORIES
from parley.server.ops.local import demo as demo_module
from parley.server.ops.local.demo import Demo, DemoClient, DemoShow, DemoTest, curl_line
from parley.server.ops.local.errors import LocalStackError
from parley.server.ops.local.home import DevFile

DEV_FILE = DevFile(url="http://127.0.0.1:8000", account_id="a", private_key="sk-par-x", public_key="pk-par-x")
TEST = DemoTest(id="t1", name="Return")
END = {
    "outcome": "success",
    "reason": "baseline_reached",
    "turn_number": 1,
    "conversation_delta": 1.0,
}


class Service:
    """A stand-in for the API: lists of gateways and tests, and streams written by the test."""

    def __init__(self, streams: list[Callable[[], Iterator[bytes]]] | None = None) -> None:
        self.stored: dict[str, list[dict[str, Any]]] = {"ai-gateways": [], "agentic-tests": []}
        self.streams = streams or []
        self.last_event_ids: list[str | None] = []
        self.changes: list[tuple[str, dict[str, Any]]] = []

    def client(self) -> DemoClient:
        return DemoClient(DEV_FILE, httpx.MockTransport(self._answer))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        kind, *rest = request.url.path.removeprefix("/api/v1/").split("/")
        if rest and rest[-1] == "events":
            self.last_event_ids.append(request.headers.get("Last-Event-ID"))
            return httpx.Response(200, content=self.streams.pop(0)())
        if rest and rest[-1] == "runs":
            return httpx.Response(202, json={"data": {"id": "r1"}})
        if request.method == "GET":
            return self._page(kind, request)
        body = json.loads(request.content)
        if request.method == "PATCH":
            self.changes.append((rest[0], body))
            return httpx.Response(200, json={"data": {"id": rest[0], "slug": "demo-shop:1234"}})
        made = {**body, "id": f"{kind}-{len(self.stored[kind])}", "slug": "demo-shop:1234"}
        self.stored[kind].append(made)
        return httpx.Response(201, json={"data": made})

    def _page(self, kind: str, request: httpx.Request) -> httpx.Response:
        offset, limit = int(request.url.params["offset"]), int(request.url.params["limit"])
        page = self.stored[kind][offset : offset + limit]
        has_more = offset + limit < len(self.stored[kind])
        return httpx.Response(200, json={"data": page, "page": {"has_more": has_more}})


def line(seq: str, kind: str, data: dict[str, Any]) -> bytes:
    event = {"timestamp": 1, "event": {"type": kind, "data": data}}
    return f"id: {seq}\ndata: {json.dumps(event)}\n\n".encode()


def heard(service: Service) -> list[str]:
    kinds: list[str] = []

    def tell(kind: str, _data: dict[str, Any]) -> bool:
        kinds.append(kind)
        return kind == "chat.validation.end"

    service.client().run(TEST, tell)
    return kinds


def test_the_demo_is_made_once_however_often_it_is_installed() -> None:
    service = Service()
    first = service.client().install("http://127.0.0.1:1/v1")
    second = service.client().install("http://127.0.0.1:1/v1")
    assert second == first
    assert [test.name for test in first.tests] == [story.name for story in STORIES]
    assert len(service.stored["ai-gateways"]) == 1
    assert service.changes == []


def test_demo_tests_are_found_behind_a_hundred_others() -> None:
    service = Service()
    service.client().install("http://127.0.0.1:1/v1")
    others = [{"name": f"other {number}", "id": str(number)} for number in range(150)]
    service.stored["agentic-tests"][:0] = others
    service.client().install("http://127.0.0.1:1/v1")
    assert len(service.stored["agentic-tests"]) == 150 + len(STORIES)


def test_a_moved_demo_llm_changes_the_address_of_the_gateway_alone() -> None:
    service = Service()
    service.client().install("http://127.0.0.1:1/v1")
    service.client().install("http://127.0.0.1:2/v1")
    assert service.changes == [("ai-gateways-0", {"base_url": "http://127.0.0.1:2/v1"})]


def test_a_broken_stream_is_resumed_after_its_last_event() -> None:
    def breaks() -> Iterator[bytes]:
        yield line("1", "chat.start", {"turn_number": 1})
        raise httpx.ReadError("cut")

    def ends_early() -> Iterator[bytes]:
        yield line("1:7", "chat.user_message.content", {"content": "Hi"})

    def goes_on() -> Iterator[bytes]:
        yield b": ping\n\n"
        yield line("2", "chat.validation.end", END)

    service = Service([breaks, ends_early, goes_on])
    assert heard(service) == ["chat.start", "chat.user_message.content", "chat.validation.end"]
    assert service.last_event_ids == [None, "1", "1:7"]


def test_a_stream_that_never_ends_well_is_given_up() -> None:
    service = Service([lambda: iter(())] * 20)
    with pytest.raises(LocalStackError, match="events of run r1 broke off"):
        heard(service)
    assert len(service.last_event_ids) < 10


def test_a_stuck_run_is_reported_and_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_module, "_STALLED_S", 0.0)
    service = Service([lambda: iter([b": ping\n\n"])])
    with pytest.raises(LocalStackError, match=r"stuck; logs/worker\.log"):
        heard(service)


def test_a_refusal_of_the_api_is_told_with_its_words() -> None:
    refusing = httpx.MockTransport(lambda _request: httpx.Response(402, json={"error": "no credit"}))
    with pytest.raises(LocalStackError, match=r"GET /api/v1/ai-gateways answered 402(.|\n)*no credit"):
        DemoClient(DEV_FILE, refusing).install("http://127.0.0.1:1/v1")


def show(service: Service) -> tuple[DemoShow, io.StringIO]:
    out = io.StringIO()
    shown = DemoShow(service.client(), Demo(gateway="g:1", tests=(TEST,)), Console(file=out, width=80))
    shown.start()
    shown.wait()
    return shown, out


def test_a_show_ends_after_the_last_verdict() -> None:
    shown, out = show(Service([lambda: iter([line("1", "chat.validation.end", END)])]))
    assert shown.is_over()
    assert "1/1 Return" in out.getvalue()
    assert "success" in out.getvalue()


@pytest.mark.parametrize(
    ("event", "trouble"),
    [
        (
            ("unhandled_error", {"error": "no key", "code": "request_refused", "will_retry": False}),
            "had no verdict",
        ),
        (("chat.start", {}), "turn_number"),
    ],
    ids=["a run that failed", "a fault of the show itself"],
)
def test_a_show_that_fails_says_so_and_does_not_count_as_shown(
    event: tuple[str, dict[str, Any]], trouble: str
) -> None:
    shown, _ = show(Service([lambda: iter([line("1", *event)])]))
    with pytest.raises((LocalStackError, KeyError), match=trouble):
        shown.is_over()


def test_a_stopped_show_ends_its_line_and_begins_no_further_test() -> None:
    out = io.StringIO()

    def stopped_in_a_sentence() -> Iterator[bytes]:
        yield line("1", "chat.user_message.start_generation", {})
        yield line("2", "chat.user_message.content", {"content": "Hello there"})
        shown.stop()
        yield line("3", "chat.user_message.content", {"content": " and more"})

    demo = Demo(gateway="g:1", tests=(TEST, DemoTest(id="t2", name="Another")))
    shown = DemoShow(Service([stopped_in_a_sentence]).client(), demo, Console(file=out, width=80))
    shown.start()
    shown.wait()
    assert out.getvalue().endswith("Hello there\n")
    assert "Another" not in out.getvalue()
    assert shown.is_over()


def test_the_line_to_try_names_address_key_and_gateway() -> None:
    text = curl_line(DEV_FILE, Demo(gateway="demo-shop:1234", tests=()))
    assert text.startswith("curl -N http://127.0.0.1:8000/api/v1/generations/agentic-tests ")
    assert "sk-par-x" in text
    assert shlex.split(text.replace("\\\n", ""))[1] == "-N", "a shell takes the lines as one"
    assert max(map(len, text.splitlines())) < 120
    assert '"model": "demo-shop:1234"' in text
