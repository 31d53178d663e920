"""Both drivers carry the same calls out in the same way."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import httpx
import pytest

from parley.sdk import AsyncClient, Client, ServiceUnreachable, errors
from parley.sdk.bounded import MOST_BYTES
from parley.sdk.errors import Refused, StreamBroken, UnexpectedAnswer
from parley.sdk.events import Content, Ended, Event
from parley.sdk.retries import RetryPolicy

URL, KEY = "https://parley.test", "sk-par-test"
HASTY = RetryPolicy(retries=3, base_s=0.001, longest_s=0.002, longest_asked_s=1)
RUN = {
    "id": "r",
    "test_id": "t",
    "state": "pending",
    "created_at": "2026-11-30T10:00:00Z",
    "started_at": None,
    "finished_at": None,
    "outcome": None,
    "score": None,
    "cost": 0,
    "error": None,
    "trigger": "manual",
    "revision": "x",
    "seed": 1,
    "of_a_newer_release": True,
}

Answer: TypeAlias = httpx.Response | Exception
Do: TypeAlias = Callable[[Any], Any]


class Service:
    """Answers in order, and remembers what it was asked."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.left = list(answers)
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self.left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        # A response is used up by the one who reads it.
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)


class Packed(Service):
    """Answers once, with bytes that are taken as they are."""

    def __init__(self, status: int, headers: dict[str, str], sent: bytes) -> None:
        super().__init__([])
        self._answer = (status, headers, sent)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        status, headers, sent = self._answer
        return httpx.Response(status, headers=headers, stream=httpx.ByteStream(sent))


@pytest.fixture(params=["sync", "async"])
def carry_out(request: pytest.FixtureRequest) -> Callable[[Service, Do], Any]:
    """Does something with a client of either kind; iterators become lists."""

    def with_sync(service: Service, do: Do) -> Any:
        with Client(URL, KEY, retries=HASTY, transport=httpx.MockTransport(service)) as client:
            done = do(client)
            return list(done) if isinstance(done, Iterator) else done

    async def with_async(service: Service, do: Do) -> Any:
        async with AsyncClient(URL, KEY, retries=HASTY, transport=httpx.MockTransport(service)) as client:
            done = do(client)
            return [one async for one in done] if hasattr(done, "__aiter__") else await done

    return with_sync if request.param == "sync" else lambda service, do: asyncio.run(with_async(service, do))


def data(value: Any, status: int = 200) -> httpx.Response:
    return httpx.Response(status, json={"message": None, "data": value})


def refused(
    status: int, code: str = "", headers: dict[str, str] | None = None, **more: Any
) -> httpx.Response:
    return httpx.Response(
        status, headers=headers, json={"error": "No.", "code": code, "details": None} | more
    )


def page(items: list[Any], **about: Any) -> httpx.Response:
    return httpx.Response(200, json={"message": None, "data": items, "page": about})


def told(*events: tuple[str, str, dict[str, Any]], rest: str = "") -> httpx.Response:
    lines = [
        f"id: {place}\ndata: {json.dumps({'timestamp': 1, 'event': {'type': kind, 'data': body}})}\n\n"
        for place, kind, body in events
    ]
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, text="".join(lines) + rest)


def start(client: Any) -> Any:
    return client.runs.start("t", seed=7)


def create(client: Any) -> Any:
    return client.tests.create({"name": "x"})


def whoami(client: Any) -> Any:
    return client.account.whoami()


def test_a_call_is_sent_with_key_and_body_and_its_answer_is_typed(carry_out: Any) -> None:
    service = Service([data(RUN, 202)])
    run = carry_out(service, start)
    request = service.asked[0]
    assert (request.method, str(request.url)) == ("POST", f"{URL}/api/v1/agentic-tests/t/runs")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert json.loads(request.content) == {"seed": 7}
    assert (run.id, run.created_at.year, run.model_extra) == ("r", 2026, {"of_a_newer_release": True})


def test_a_start_without_a_seed_has_no_body(carry_out: Any) -> None:
    service = Service([data(RUN, 202)])
    carry_out(service, lambda client: client.runs.start("t"))
    assert service.asked[0].content == b""


def test_an_id_cannot_lead_elsewhere(carry_out: Any) -> None:
    service = Service([refused(404)])
    with pytest.raises(errors.NotFound):
        carry_out(service, lambda client: client.tests.get("../keys?x=1"))
    assert service.asked[0].url.raw_path == b"/api/v1/agentic-tests/..%2Fkeys%3Fx%3D1"


@pytest.mark.parametrize(
    "fault", [httpx.ConnectError("refused"), httpx.ReadError("cut"), httpx.ReadTimeout("slow")]
)
def test_a_start_is_sent_again_under_one_key(carry_out: Any, fault: Exception) -> None:
    service = Service([fault, refused(502), data(RUN, 202)])
    assert carry_out(service, start).id == "r"
    assert len({request.headers["idempotency-key"] for request in service.asked}) == 1


def test_two_starts_have_two_keys(carry_out: Any) -> None:
    keys = set()
    for _ in range(2):
        service = Service([data(RUN, 202)])
        carry_out(service, start)
        keys.add(service.asked[0].headers["idempotency-key"])
    assert len(keys) == 2


@pytest.mark.parametrize("answer", [httpx.ReadError("cut"), refused(502), refused(500)])
def test_what_may_have_been_made_is_not_made_again(carry_out: Any, answer: Answer) -> None:
    service = Service([answer, data({}, 201)])
    with pytest.raises((ServiceUnreachable, errors.ServiceFault)):
        carry_out(service, create)
    assert len(service.asked) == 1


@pytest.mark.parametrize(
    "answer", [httpx.ConnectError("refused"), refused(503, headers={"Retry-After": "0"}), refused(429)]
)
def test_what_cannot_have_been_made_is_made_again(carry_out: Any, answer: Answer) -> None:
    service = Service([answer, refused(400, "invalid_request")])
    with pytest.raises(errors.InvalidRequest):
        carry_out(service, create)
    assert len(service.asked) == 2


def test_retries_are_bounded_and_the_last_answer_is_told(carry_out: Any) -> None:
    service = Service([refused(503, "database_unavailable")] * 9)
    with pytest.raises(errors.ServiceFault) as caught:
        carry_out(service, whoami)
    assert len(service.asked) == 1 + HASTY.retries
    assert caught.value.code == "database_unavailable"


def test_a_wait_beyond_our_patience_is_left_to_the_caller(carry_out: Any) -> None:
    service = Service([refused(429, "integrated_limit_reached", {"Retry-After": "3600"})])
    with pytest.raises(errors.TooManyRequests, match=r"Try again in 3600 s\.") as caught:
        carry_out(service, start)
    assert caught.value.retry_after_s == 3600


def test_nothing_answers(carry_out: Any) -> None:
    service = Service([httpx.ConnectError("Connection refused")] * 9)
    with pytest.raises(
        ServiceUnreachable, match=r"Nothing answers at https://parley\.test \(from PARLEY_URL"
    ):
        carry_out(service, whoami)


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (401, errors.KeyRefused, "No. Check PARLEY_API_KEY"),
        (402, errors.BalanceExhausted, "No."),
        (403, errors.Forbidden, "No."),
        (404, errors.NotFound, "No."),
        (409, errors.Conflict, "No."),
        (418, Refused, "No."),
        (501, errors.ServiceFault, "Request req-1."),
    ],
)
def test_each_refusal_has_its_class_and_the_words_of_the_service(
    carry_out: Any, status: int, kind: type[Refused], words: str
) -> None:
    with pytest.raises(Refused, match=words) as caught:
        carry_out(Service([refused(status, "a_code", {"X-Request-Id": "req-1"})]), whoami)
    assert type(caught.value) is kind
    assert (caught.value.status, caught.value.code) == (status, "a_code")


def test_every_fault_of_a_body_is_told(carry_out: Any) -> None:
    faults = [
        {"field": "max_turns", "problem": "too many."},
        {"field": "gaol", "problem": "did you mean goal?"},
    ]
    answer = refused(
        400, "invalid_request", error="The request is not valid: max_turns: too many.", details=faults
    )
    with pytest.raises(errors.InvalidRequest, match=r"too many.*gaol: did you mean goal") as caught:
        carry_out(Service([answer]), create)
    assert caught.value.faults[1] == ("gaol", "did you mean goal?")


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, html="<html>Sign in</html>"),
        httpx.Response(200, json={"data": {"account_id": 5}}),
        httpx.Response(200, json=[]),
        httpx.Response(200),
    ],
)
def test_an_answer_of_somebody_else_is_called_so(carry_out: Any, answer: httpx.Response) -> None:
    with pytest.raises(UnexpectedAnswer):
        carry_out(Service([answer]), whoami)


def test_a_redirect_is_no_answer_and_the_key_does_not_follow_it(carry_out: Any) -> None:
    service = Service([httpx.Response(302, headers={"location": "https://evil.example/"})])
    with pytest.raises(Refused, match="302"):
        carry_out(service, whoami)
    assert len(service.asked) == 1


def test_a_list_is_asked_for_page_by_page(carry_out: Any) -> None:
    gateway = {"id": "1", "name": "n", "slug": "s", "base_url": "b"}
    service = Service(
        [
            page([gateway], limit=1, offset=0, has_more=True, next_cursor="abc"),
            page([gateway | {"id": "2"}], limit=1, offset=0, has_more=True, next_cursor=None),
            page([gateway | {"id": "3"}], limit=1, offset=1, has_more=False, next_cursor=None),
        ]
    )
    found = carry_out(service, lambda client: client.gateways.list(limit=1))
    assert [one.id for one in found] == ["1", "2", "3"]
    assert [dict(request.url.params) for request in service.asked] == [
        {"limit": "1"},
        {"limit": "1", "cursor": "abc"},
        {"limit": "1", "cursor": "abc", "offset": "1"},
    ]


CONTENT = "chat.user_message.content"
VERDICT = {"outcome": "success", "reason": "r", "state": "success", "turn_number": 1}
END = ("9", "chat.validation.end", VERDICT | {"conversation_delta": 1, "loss_streak": 0})


def watch(client: Any) -> Any:
    return client.runs.events("t", "r")


def words(events: list[Event]) -> list[str]:
    return [event.data.text for event in events if isinstance(event.data, Content)]


def test_a_cut_stream_is_resumed_behind_the_last_whole_event(carry_out: Any) -> None:
    service = Service(
        [
            told(("1:4", CONTENT, {"content": "Good "}), rest='id: 1:9\ndata: {"half'),
            httpx.ReadError("cut"),
            told(("1:9", CONTENT, {"content": "morning"}), END),
        ]
    )
    events = carry_out(service, watch)
    assert words(events) == ["Good ", "morning"]
    assert isinstance(events[-1].data, Ended)
    assert [request.headers.get("last-event-id") for request in service.asked] == [None, "1:4", "1:4"]


def test_a_stream_ends_with_its_last_event(carry_out: Any) -> None:
    service = Service([told(END, ("10", CONTENT, {"content": "never told"}))])
    assert words(carry_out(service, watch)) == []


def test_a_stream_that_never_comes_on_is_given_up(carry_out: Any) -> None:
    service = Service([told()] * 9)
    with pytest.raises(StreamBroken, match="before its last event"):
        carry_out(service, watch)
    assert len(service.asked) == 1 + HASTY.retries


def test_patience_begins_anew_with_every_event(carry_out: Any) -> None:
    parts = [told((str(n), CONTENT, {"content": str(n)})) for n in range(9)]
    assert len(words(carry_out(Service([*parts, told(END)]), watch))) == 9


def test_a_stream_is_refused_like_any_call(carry_out: Any) -> None:
    with pytest.raises(errors.KeyRefused):
        carry_out(Service([refused(401)]), watch)


def test_a_stream_waits_out_a_busy_service(carry_out: Any) -> None:
    assert len(carry_out(Service([refused(503, headers={"Retry-After": "0"}), told(END)]), watch)) == 1


def test_a_direct_conversation_is_not_resumed(carry_out: Any) -> None:
    service = Service([told(("1", CONTENT, {"content": "Good "})), told(END)])
    with pytest.raises(StreamBroken, match="start it again"):
        carry_out(service, lambda client: client.runs.direct({"model": "x", "goal": "y"}))
    assert len(service.asked) == 1


@pytest.mark.parametrize("status", [200, 400])
def test_an_answer_that_cannot_be_unpacked_is_told_as_such(
    carry_out: Callable[[Service, Do], Any], status: int
) -> None:
    packed = {"content-encoding": "gzip", "content-type": "application/json"}
    service = Packed(status, packed, b"not gzip")
    with pytest.raises(UnexpectedAnswer, match="cannot be unpacked"):
        carry_out(service, lambda client: client.tests.get("t"))


def test_a_stream_that_cannot_be_unpacked_is_told_as_such(carry_out: Callable[[Service, Do], Any]) -> None:
    service = Packed(200, {"content-encoding": "gzip"}, b"not gzip")
    with pytest.raises(StreamBroken, match="cannot be unpacked"):
        carry_out(service, lambda client: client.runs.events("t", "r"))


def test_an_answer_is_read_up_to_a_bound_however_small_it_was_sent(
    carry_out: Callable[[Service, Do], Any],
) -> None:
    bomb = gzip.compress(b" " * (MOST_BYTES + 1), 1)
    service = Packed(200, {"content-encoding": "gzip"}, bomb)
    with pytest.raises(UnexpectedAnswer, match="more than 64000000 bytes"):
        carry_out(service, lambda client: client.tests.get("t"))


@pytest.mark.parametrize("charset", ["hex", "base64", "idna", "utf-16", "nonsense"])
@pytest.mark.parametrize("content", [b"<html>", b"[" * 100_000])
def test_what_is_no_answer_of_the_service_is_told_as_such(
    carry_out: Callable[[Service, Do], Any], charset: str, content: bytes
) -> None:
    strange = httpx.Response(200, headers={"content-type": f"text/html; charset={charset}"}, content=content)
    with pytest.raises(UnexpectedAnswer, match="other than JSON"):
        carry_out(Service([strange]), lambda client: client.tests.get("t"))
