"""Hooks through the API, a real worker and a real receiver."""

from __future__ import annotations

import dataclasses
import gzip
import logging
from ipaddress import ip_address
from typing import Any

import bcrypt
import pytest

from parley.server.config import OutboundSettings, Settings
from parley.server.llm.demo import Rule, opinion
from tests.receivers import (
    Call,
    Play,
    Receiver,
    bombs,
    drips,
    floods,
    hangs_up,
    hangs_up_early,
    says,
    waits,
)
from tests.stage import GOAL, Stage, is_terminal, open_stage, until

EVENTS = ("before-test", "before-inference", "after-inference", "context-changed", "after-test")
FIELDS: dict[str, Any] = {"seed": 7, "max_turns": 2, "profile": "low"}
ROLL = "/api/v1/account/hook-key/roll"


def hooks_at(receiver: Receiver, *events: str) -> list[dict[str, str]]:
    """A hook for each event, at its name as path."""
    return [{"event": event, "url": receiver.url(f"/{event}")} for event in events or EVENTS]


async def rolled(stage: Stage) -> str:
    answer = await stage.http.post(ROLL)
    assert answer.status_code == 200, answer.text
    key: str = answer.json()["data"]["key"]
    return key


def hasty(stage: Stage) -> Settings:
    """Settings of a worker whose hooks have half a second."""
    outbound = stage.settings.outbound.model_copy(update={"hook_timeout_s": 0.5})
    return dataclasses.replace(stage.settings, outbound=outbound)


async def run_with(stage: Stage, hooks: list[dict[str, str]], **fields: Any) -> dict[str, Any]:
    async with stage.worker():
        return await stage.finished(await stage.start(await stage.make_test(hooks=hooks, **FIELDS | fields)))


async def test_all_events_are_sent_in_order_with_their_data(stage: Stage, receiver: Receiver) -> None:
    run = await run_with(stage, hooks_at(receiver), metadata={"team": "shop"})
    in_turn = ["before-inference", "after-inference", "context-changed"]
    assert [call.event for call in receiver.calls] == ["before-test", *in_turn, *in_turn, "after-test"]
    told = [call.json for call in receiver.calls]
    for each in told:
        assert list(each) == ["testId", "runId", "gatewayId", "moment", "event"]
        assert (each["testId"], each["runId"]) == (run["test_id"], run["id"])
        assert each["gatewayId"] == stage.gateway["id"]
        assert each["moment"].endswith("Z")
    first, *turns, last = [each["event"]["data"] for each in told]
    assert first == {"gateway": stage.gateway["slug"], "goal": GOAL, "metadata": {"team": "shop"}}
    assert [data["turn_number"] for data in turns] == [1, 1, 1, 2, 2, 2]
    assert [[m["role"] for m in data["messages"]] for data in turns[:3]] == [
        ["user"],
        ["user", "assistant"],
        ["user", "assistant"],
    ]
    result = {name: value for name, value in run["result"].items() if name != "hooks"}
    assert last == result
    assert (run["state"], result["outcome"]) == ("succeeded", "incomplete")
    audit = run["result"]["hooks"]
    assert [(each["event"], each["status"], each["continued"], each["body"]) for each in audit] == [
        (call.event, 200, True, "ok") for call in receiver.calls
    ]
    assert all(each["url"].endswith("/" + each["event"]) and each["timestamp"] for each in audit)


async def test_unsigned_calls_carry_an_id_and_no_nonce(stage: Stage, receiver: Receiver) -> None:
    await run_with(stage, hooks_at(receiver))
    for call in receiver.calls:
        assert call.method == "POST"
        assert call.headers["content-type"] == "application/json"
        assert int(call.headers["webhook-timestamp"]) > 1_700_000_000
        assert not {"webhook-signature", "x-request-nonce", "authorization", "cookie"} & set(call.headers)
    ids = [call.headers["webhook-id"] for call in receiver.calls]
    assert len(set(ids)) == len(ids)
    assert not any("." in each for each in ids), "a full stop separates the parts that are signed"


REFUSALS: dict[str, tuple[Play, int | None, str | None]] = {
    "forbidden": (says(403, b"no"), 403, None),
    "server-error": (says(500), 500, None),
    "redirect": (says(302, b"", Location="/elsewhere"), 302, None),
    "not-modified": (says(304, b""), 304, None),
    "silence": (waits, None, "0.5 seconds"),
    "drip": (drips, None, "0.5 seconds"),
    "flood": (floods(), 200, "larger than 1000000 bytes"),
    "bomb": (bombs(), 200, "larger than 1000000 bytes"),
    "hang-up": (hangs_up, None, "connection"),
    "cut-body": (hangs_up_early, None, "connection"),
}


@pytest.mark.parametrize("name", REFUSALS)
async def test_anything_but_a_sound_2xx_ends_the_run_before_it_begins(
    stage: Stage, receiver: Receiver, name: str
) -> None:
    """C104"""
    play, status, error = REFUSALS[name]
    receiver.on("/before-test", play)
    is_slow = "seconds" in (error or "")
    async with stage.worker(hasty(stage) if is_slow else None):
        path = await stage.start(await stage.make_test(hooks=hooks_at(receiver), **FIELDS))
        frames = await stage.events(path)
    run = await stage.read(path)
    assert [call.path for call in receiver.calls] == ["/before-test"], "one try, and nothing is followed"
    assert run["state"] == "failed"
    [audit] = run["result"].pop("hooks")
    assert run["result"] == {
        "outcome": "interrupted",
        "reason": "validation_hook_interrupted",
        "state": "interrupted",
        "turn_number": 0,
        "score": None,
        "conversation_delta": 0.5,
        "loss_streak": 0,
    }
    assert (audit["continued"], audit["status"]) == (False, status)
    assert (audit["error"] is None) == (error is None)
    assert (error or "") in (audit["error"] or "")
    assert len(audit["body"]) <= 4_000
    assert [frame.type for frame in frames] == ["chat.validation.end"]
    assert is_terminal(frames[0])
    assert stage.llms.stats.requests == 0
    assert run["cost"] == 0


@pytest.mark.parametrize("event", EVENTS[1:])
async def test_refusal_keeps_what_was_said_and_charged(stage: Stage, receiver: Receiver, event: str) -> None:
    receiver.on(f"/{event}", says(418))
    run = await run_with(stage, hooks_at(receiver))
    said = [item["role"] for item in run["conversation"]]
    assert (run["state"], run["outcome"]) == ("failed", "interrupted")
    assert (
        said
        == {
            "before-inference": ["user"],
            "after-inference": ["user", "assistant"],
            "context-changed": ["user", "assistant"],
            "after-test": ["user", "assistant", "judge"] * 2,
        }[event]
    )
    assert run["result"]["turn_number"] == (2 if event == "after-test" else 1)
    assert run["cost"] > 0
    assert ("behaviour" in run["result"]) == (event == "after-test")
    if event == "after-test":
        assert run["result"]["behaviour"]["outcome"] == "incomplete"
        assert run["score"] is not None
    [ledger] = await stage.rows("SELECT -sum(amount) AS charged FROM ledger WHERE source = 'run'")
    assert float(ledger["charged"]) == pytest.approx(run["cost"])


async def test_hooks_behind_a_refusal_are_recorded_as_not_called(stage: Stage, receiver: Receiver) -> None:
    """C125: in their order; the first one times out."""
    slow = receiver.on("/slow", waits)
    hooks = [
        {"event": "before-test", "url": url} for url in (receiver.url("/good"), slow, receiver.url("/late"))
    ]
    async with stage.worker(hasty(stage)):
        run = await stage.finished(await stage.start(await stage.make_test(hooks=hooks, **FIELDS)))
    assert [call.path for call in receiver.calls] == ["/good", "/slow"]
    audit = run["result"]["hooks"]
    assert [(each["called"], each["continued"]) for each in audit] == [
        (True, True),
        (True, False),
        (False, False),
    ]
    assert [each["url"][-5:] for each in audit] == ["/good", "/slow", "/late"]


def blocked_urls(receiver: Receiver) -> list[str]:
    """Inner addresses in several spellings: allowed is 127.0.0.1 alone."""
    port = receiver.port
    return [
        f"http://127.0.0.2:{port}/",
        f"http://127.2:{port}/",
        f"http://0.0.0.0:{port}/",
        f"http://[::1]:{port}/",
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.7/",
        "http://nothing.invalid/",
    ]


async def test_blocked_addresses_read_alike_and_are_never_dialled(
    stage: Stage, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C113, C115, C129"""
    monkeypatch.setattr("parley.server.wiring.SystemLookup", lambda: StubLookup({"nothing.invalid": []}))
    told = set()
    async with stage.worker():
        for url in blocked_urls(receiver):
            hooks = [{"event": "before-test", "url": url}]
            run = await stage.finished(await stage.start(await stage.make_test(hooks=hooks, **FIELDS)))
            assert (run["state"], run["outcome"]) == ("failed", "interrupted")
            [audit] = run["result"]["hooks"]
            told.add((audit["status"], audit["error"], audit["body"]))
    assert len(told) == 1
    assert receiver.connections == 0


class StubLookup:
    """Names and the addresses they lead to now."""

    def __init__(self, names: dict[str, list[str]]) -> None:
        self.names = names

    async def __call__(self, host: str, _port: int) -> list[Any]:
        return [ip_address(text) for text in self.names[host]]

    def close(self) -> None:
        """Nothing is open."""


async def test_name_that_turns_inner_after_it_was_saved_is_refused(
    stage: Stage, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C102, C126: checked at each call, not when it is saved."""
    lookup = StubLookup({"hooks.example": ["127.0.0.1"]})
    monkeypatch.setattr("parley.server.wiring.SystemLookup", lambda: lookup)
    hooks = [{"event": "after-inference", "url": receiver.url("/in", "hooks.example")}]
    test_id = await stage.make_test(hooks=hooks, **FIELDS)
    async with stage.worker():
        assert (await stage.finished(await stage.start(test_id)))["state"] == "succeeded"
        assert receiver.calls[0].headers["host"] == f"hooks.example:{receiver.port}"
        dialled = receiver.connections
        for inner in (["127.0.0.2"], ["127.0.0.1", "127.0.0.2"]):
            lookup.names["hooks.example"] = inner
            run = await stage.finished(await stage.start(test_id))
            assert (run["state"], run["outcome"]) == ("failed", "interrupted")
            [audit] = run["result"]["hooks"]
            assert "does not lead to a public address" in audit["error"]
            assert "127.0.0" not in str(audit["error"])
    assert receiver.connections == dialled


async def test_name_that_turns_inner_within_a_run_ends_it(
    stage: Stage, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    lookup = StubLookup({"hooks.example": ["127.0.0.1"]})
    monkeypatch.setattr("parley.server.wiring.SystemLookup", lambda: lookup)

    async def turn(writer: Any) -> None:
        lookup.names["hooks.example"] = ["127.0.0.2"]
        await says(200)(writer)

    receiver.on("/in", turn)
    url = receiver.url("/in", "hooks.example")
    run = await run_with(stage, [{"event": event, "url": url} for event in ("before-test", "after-test")])
    assert [each["continued"] for each in run["result"]["hooks"]] == [True, False]
    assert len(receiver.calls) == 1


async def test_hosts_the_operator_allows_may_lead_inside(
    stage_settings: Settings, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"hooks.inside": ["127.0.0.1"], "x.hooks.inside": ["127.0.0.1"]}
    monkeypatch.setattr("parley.server.wiring.SystemLookup", lambda: StubLookup(names))
    outbound = OutboundSettings(allowed_hosts=("127.0.0.1", "Hooks.Inside."))
    async with open_stage(dataclasses.replace(stage_settings, outbound=outbound)) as stage:
        states = []
        for host in names:
            url = receiver.url("/in", host)
            run = await run_with(stage, [{"event": "before-test", "url": url}])
            states.append(run["state"])
    assert states == ["succeeded", "failed"]
    assert len(receiver.calls) == 1


async def test_answer_is_kept_readable_and_short(stage: Stage, receiver: Receiver) -> None:
    body = "é\0".encode("latin-1") + b"x" * 9_000
    receiver.on("/before-test", says(200, body, "text/plain; charset=latin-1"))
    run = await run_with(stage, hooks_at(receiver, "before-test"))
    kept = run["result"]["hooks"][0]["body"]
    assert kept == "é\N{REPLACEMENT CHARACTER}" + "x" * 3_998


async def test_compressed_answer_is_kept_unpacked_and_a_broken_one_does_not_matter(
    stage: Stage, receiver: Receiver
) -> None:
    receiver.on("/before-test", says(200, gzip.compress(b"welcome"), Content_Encoding="gzip"))
    receiver.on("/after-test", says(201, b"\x1f\x8bbroken", Content_Encoding="gzip"))
    run = await run_with(stage, hooks_at(receiver, "before-test", "after-test"))
    assert run["state"] == "succeeded"
    assert [each["body"] for each in run["result"]["hooks"]] == ["welcome", ""]


async def test_nonce_verifies_with_a_plain_library_and_is_one_for_a_run(
    stage: Stage, receiver: Receiver
) -> None:
    key = await rolled(stage)
    await run_with(stage, hooks_at(receiver))
    [nonce] = {call.headers["x-request-nonce"] for call in receiver.calls}
    assert nonce.startswith("$2b$10$")
    assert bcrypt.checkpw(key.encode(), nonce.encode())
    assert len(key.encode()) <= 72


async def test_rolled_key_is_used_from_the_next_run_on(stage: Stage, receiver: Receiver) -> None:
    old = await rolled(stage)
    new: list[str] = []

    async def roll(writer: Any) -> None:
        new.append(await rolled(stage))
        await says(200)(writer)

    receiver.on("/before-test", roll)
    test_id = await stage.make_test(hooks=hooks_at(receiver), **FIELDS)
    async with stage.worker():
        await stage.finished(await stage.start(test_id))
        [first] = {call.headers["x-request-nonce"] for call in receiver.calls}
        assert bcrypt.checkpw(old.encode(), first.encode())
        receiver.on("/before-test", says(200))
        receiver.calls.clear()
        await stage.finished(await stage.start(test_id))
    [second] = {call.headers["x-request-nonce"] for call in receiver.calls}
    assert bcrypt.checkpw(new[0].encode(), second.encode())
    assert not bcrypt.checkpw(old.encode(), second.encode())


async def test_key_made_within_a_run_waits_for_the_next(stage: Stage, receiver: Receiver) -> None:
    async def roll(writer: Any) -> None:
        await rolled(stage)
        await says(200)(writer)

    receiver.on("/before-test", roll)
    await run_with(stage, hooks_at(receiver))
    assert not any("x-request-nonce" in call.headers for call in receiver.calls)


def repeated(calls: list[Call]) -> tuple[Call, Call]:
    first, second = calls
    return first, second


@pytest.mark.parametrize("leaves", ["kill", "stop"])
async def test_takeover_repeats_an_open_call_under_its_id(
    stage: Stage, receiver: Receiver, leaves: str
) -> None:
    await rolled(stage)
    receiver.on("/after-inference", waits)
    path = await stage.start(await stage.make_test(hooks=hooks_at(receiver), **FIELDS))
    async with stage.worker() as first:
        await until(lambda: receiver.at("/after-inference"))
        await rolled(stage)
        await getattr(first, leaves)()
    receiver.on("/after-inference", says(200))
    async with stage.worker():
        run = await stage.finished(path)
    assert run["state"] == "succeeded"
    before, again = repeated(receiver.at("/after-inference")[:2])
    assert before.headers["webhook-id"] == again.headers["webhook-id"]
    assert before.json["event"] == again.json["event"]
    nonces = {call.headers["x-request-nonce"] for call in receiver.calls}
    assert len(nonces) == 1, "the new worker shows what the first one showed"
    ids = [call.headers["webhook-id"] for call in receiver.calls]
    assert len(ids) - len(set(ids)) == 1, "no other call was made twice"
    assert len(receiver.at("/before-test")) == 1
    audit = run["result"]["hooks"]
    assert [each["event"] for each in audit].count("after-inference") == 2


async def test_cancellation_ends_an_open_hook(stage: Stage, receiver: Receiver) -> None:
    receiver.on("/before-test", waits)
    path = await stage.start(await stage.make_test(hooks=hooks_at(receiver), **FIELDS))
    async with stage.worker():
        await until(lambda: receiver.calls)
        await stage.http.post(f"{path}/cancel")
        run = await stage.finished(path)
    assert run["state"] == "cancelled"
    assert len(receiver.calls) == 1, "no hook after the test either"


async def test_success_at_the_first_turn_calls_each_hook_once(stage: Stage, receiver: Receiver) -> None:
    stage.play(Rule((opinion(0.95),), part="judge"))
    await run_with(stage, hooks_at(receiver))
    assert [call.event for call in receiver.calls] == list(EVENTS)
    data = receiver.calls[-1].json["event"]["data"]
    assert (data["outcome"], data["reason"]) == ("success", "baseline_reached")
    assert isinstance(data["score"], float)


async def test_key_and_nonce_are_shown_to_receivers_alone(
    stage: Stage, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    key = await rolled(stage)
    receiver.on("/after-test", says(403))
    async with stage.worker():
        path = await stage.start(await stage.make_test(hooks=hooks_at(receiver), **FIELDS))
        frames = await stage.events(path)
    nonce = receiver.calls[0].headers["x-request-nonce"]
    pages = [(await stage.http.get(page)).text for page in (path, f"{path}/export", "/api/v1/agentic-tests")]
    stored = await stage.rows("SELECT to_jsonb(runs) AS row FROM runs")
    stored += await stage.rows("SELECT to_jsonb(entries) AS row FROM entries")
    stored += await stage.rows("SELECT encode(sealed, 'escape') AS row FROM hook_credentials")
    stored += await stage.rows("SELECT encode(sealed_key, 'escape') AS row FROM hook_keys")
    assert len(stored) > 4
    for place, text in {"logs": caplog.text, "events": frames, "pages": pages, "rows": stored}.items():
        assert key.removeprefix("whsec_") not in str(text), place
        assert nonce not in str(text), place


async def test_direct_evaluations_take_no_hooks(stage: Stage, receiver: Receiver) -> None:
    reading = await stage.evaluated(hooks=hooks_at(receiver), **FIELDS)
    assert reading.status == 400
    assert receiver.calls == []
