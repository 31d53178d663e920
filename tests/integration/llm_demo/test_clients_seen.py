"""What the server sees of its clients: requests, connections, and those who leave early."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from yarl import URL

from parley.server.llm.demo import DemoServer, Hang, Raw, Rule, Say, Status, script_json


def body(llm: str = "shop", *, stream: bool = True, text: str = "hi") -> dict[str, Any]:
    return {"model": llm, "stream": stream, "messages": [{"role": "user", "content": text}]}


@pytest.fixture
async def http(server: DemoServer) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(server.address) as session:
        yield session


async def answered(http: aiohttp.ClientSession, path: str, fields: dict[str, Any]) -> str:
    async with http.post(path, json=fields) as response:
        return await response.text()


@pytest.mark.parametrize(
    "behaviour",
    [
        Hang(),
        Hang(2),
        Hang(0, comment_every_ms=5),
        Say("a b c d", gap_ms=10_000),
        Say("x", latency_ms=10_000),
    ],
    ids=["no byte", "after text", "comments", "between chunks", "before the answer"],
)
async def test_client_that_leaves_is_seen_and_counted(
    server: DemoServer, http: aiohttp.ClientSession, behaviour: Hang | Say
) -> None:
    server.play(Rule((behaviour,)))
    leaving = asyncio.create_task(answered(http, "/v1/chat/completions", body()))
    await server.space().wait_until(lambda stats: stats.open == 1)
    assert server.stats.cancelled == 0
    leaving.cancel()
    await server.space().wait_until(lambda stats: stats.cancelled == 1)
    request = server.requests[0]
    assert (server.stats.open, request.ending) == (0, "cancelled")
    assert server.stats.cancelled_at_ms == [request.ended_at_ms]
    assert not server.connections


async def test_flood_waits_for_its_reader_and_ends_with_it(
    server: DemoServer, http: aiohttp.ClientSession
) -> None:
    async with http.post("/v1/chat/completions", json=body("fault/flood")) as response:
        await response.content.readexactly(1 << 20)
        response.close()
    await server.space().wait_until(lambda stats: stats.cancelled == 1)
    assert not server.connections


async def test_waiting_for_what_does_not_come_times_out(server: DemoServer) -> None:
    with pytest.raises(TimeoutError):
        await server.space().wait_until(lambda stats: stats.requests == 1, timeout_s=0.01)


async def test_log_holds_what_was_sent(server: DemoServer, http: aiohttp.ClientSession) -> None:
    headers = {"Authorization": "Bearer canary-key", "X-Trace": "t-1"}
    async with http.post(
        "/v1/chat/completions?x=1", json=body(text="canary 🐤"), headers=headers
    ) as response:
        await response.read()
    async with http.get("/control/requests") as response:
        logged = (await response.json())[0]
    assert logged["body"] == body(text="canary 🐤") == server.requests[0].body
    assert (logged["headers"]["authorization"], logged["headers"]["x-trace"]) == ("Bearer canary-key", "t-1")
    assert (logged["seq"], logged["llm"], logged["behaviour"], logged["ending"]) == (
        1,
        "shop",
        "say",
        "answered",
    )


async def test_log_keeps_the_last_requests_alone(server: DemoServer, http: aiohttp.ClientSession) -> None:
    server.configure(log_limit=2)
    for text in ("one", "two", "three"):
        await answered(http, "/v1/chat/completions", body(text=text))
    assert [one.body["messages"][0]["content"] for one in server.requests] == ["two", "three"]
    assert server.stats.requests == 3


async def test_connections_are_counted_once_however_often_used(
    server: DemoServer, http: aiohttp.ClientSession
) -> None:
    for _ in range(3):
        await answered(http, "/v1/chat/completions", body())
    assert server.stats.connections_seen == 1
    async with aiohttp.ClientSession(server.address) as other:
        await answered(other, "/v1/chat/completions", body())
    assert server.stats.connections_seen == 2
    server.reset()
    await answered(http, "/v1/chat/completions", body())
    assert server.stats.connections_seen == 1


async def test_request_from_before_a_reset_counts_no_more(
    server: DemoServer, http: aiohttp.ClientSession
) -> None:
    leaving = asyncio.create_task(answered(http, "/v1/chat/completions", body("fault/hang")))
    await server.space().wait_until(lambda stats: stats.open == 1)
    before = server.requests[0]
    server.reset()
    leaving.cancel()
    await server.space().wait_until(lambda _: before.ending == "cancelled")
    assert (server.stats.open, server.stats.cancelled, server.requests) == (0, 0, [])


async def test_namespace_may_have_any_name(server: DemoServer, http: aiohttp.ClientSession) -> None:
    space = server.space("tests/a.py::test_b[ü?]")
    space.play(Rule((Say("I am odd."),)))
    path = space.base_url.removeprefix(server.address)
    async with http.post(
        URL(f"{server.address}{path}/chat/completions", encoded=True), json=body()
    ) as response:
        assert response.status == 200
    assert (space.stats.requests, server.stats.requests) == (1, 0)


async def test_namespaces_are_apart(server: DemoServer, http: aiohttp.ClientSession) -> None:
    server.space("one").play(Rule((Say("I am one."),)))
    async with http.post("/ns/two/control/script", data=script_json(Rule((Say("I am two."),)))) as response:
        assert (await response.json())["rules"] == 1
    first = await answered(http, "/ns/one/v1/chat/completions", body(stream=False))
    second = await answered(http, "/ns/two/v1/chat/completions", body(stream=False))
    await answered(http, "/v1/chat/completions", body(stream=False))
    assert ("I am one." in first, "I am two." in second) == (True, True)
    assert [server.space(name).stats.requests for name in ("one", "two", "")] == [1, 1, 1]
    assert server.space("one").base_url == f"{server.address}/ns/one/v1"


async def test_script_by_post_counts_its_answers(http: aiohttp.ClientSession) -> None:
    script = script_json(Rule((Status(503), Raw(b"data: \xff\n\n"), Say("better")), llm="shop"))
    for _ in range(2):
        async with http.post("/control/script", data=script) as response:
            assert response.status == 200
        async with http.post("/v1/chat/completions", json=body()) as response:
            assert response.status == 503
    async with http.post("/v1/chat/completions", json=body()) as response:
        assert await response.read() == b"data: \xff\n\n"
    assert "better" in await answered(http, "/v1/chat/completions", body())


@pytest.mark.parametrize(
    "script",
    ["{", '{"rules": [{"answers": [{"kind": "sing"}]}]}', '{"rules": [{"answers": [{"kind": "say"}]}]}'],
)
async def test_unfit_script_is_refused_and_the_old_one_stays(
    server: DemoServer, http: aiohttp.ClientSession, script: str
) -> None:
    server.play(Rule((Say("still here"),)))
    async with http.post("/control/script", data=script) as response:
        assert response.status == 400
        assert (await response.json())["error"]["code"] == "bad_script"
    assert "still here" in await answered(http, "/v1/chat/completions", body(stream=False))


async def test_config_changes_the_pace_and_refuses_what_it_does_not_know(http: aiohttp.ClientSession) -> None:
    async with http.post("/control/config", json={"chunks": 3, "gap_ms": 1, "judge_score": 0.75}) as response:
        assert (await response.json())["chunks"] == 3
    stream = await answered(http, "/v1/chat/completions", body("user"))
    assert stream.count('"delta":{"content":"') == 3
    assert "0.75" in await answered(http, "/v1/chat/completions", body("judge", stream=False))
    for wrong in ({"speed": 3}, {"chunks": "many"}, {"gap_ms": -1}, [1]):
        async with http.post("/control/config", json=wrong) as response:
            assert response.status == 400


async def test_stats_and_reset_by_http(http: aiohttp.ClientSession) -> None:
    await answered(http, "/v1/chat/completions", body())
    async with http.get("/control/stats") as response:
        stats = await response.json()
    assert (stats["requests"], stats["streamed"], stats["open"], stats["answered"]) == (1, 1, 0, 1)
    assert stats["by_llm"] == {"shop": 1}
    assert stats["connections_open"] == 1
    assert stats["cpu_s"] > 0
    async with http.post("/control/reset") as response:
        assert response.status == 200
    async with http.get("/control/stats") as response:
        assert (await response.json())["requests"] == 0


async def test_faults_are_listed_with_a_sentence(http: aiohttp.ClientSession) -> None:
    async with http.get("/control/faults") as response:
        faults = await response.json()
    assert faults["C067"] == "Status 200 with an HTML page."


async def test_unknown_addresses_are_not_found(http: aiohttp.ClientSession) -> None:
    for path in ("/", "/v1/embeddings", "/ns/x/control/nothing"):
        async with http.get(path) as response:
            assert response.status == 404


async def test_http_1_0_gets_a_plain_body_and_the_end_of_the_connection(server: DemoServer) -> None:
    host, _, port = server.address.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    content = b'{"model": "shop", "stream": true, "messages": [{"role": "user", "content": "hi"}]}'
    writer.write(
        b"POST /v1/chat/completions HTTP/1.0\r\ncontent-length: %d\r\n\r\n%b" % (len(content), content)
    )
    head, _, rest = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    assert b"transfer-encoding" not in head
    assert rest.startswith(b"data: {")
    assert rest.endswith(b"data: [DONE]\n\n")


async def test_pipelined_requests_are_answered_in_order(server: DemoServer) -> None:
    server.play(Rule((Say("first", gap_ms=2), Say("second"))))
    host, _, port = server.address.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    content = b'{"model": "shop", "stream": true, "messages": [{"role": "user", "content": "hi"}]}'
    one = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%b"
    writer.write(one % (len(content), content) * 2)
    data = b""
    while data.count(b"0\r\n\r\n") < 2:
        data += await reader.read(1 << 16)
    writer.close()
    assert data.index(b'"first"') < data.index(b"[DONE]") < data.index(b'"second"')


async def test_stopping_closes_open_answers(server: DemoServer, http: aiohttp.ClientSession) -> None:
    waiting = asyncio.create_task(answered(http, "/v1/chat/completions", body("fault/hang")))
    await server.space().wait_until(lambda stats: stats.open == 1)
    await server.stop()
    with pytest.raises(aiohttp.ClientError):
        await waiting
