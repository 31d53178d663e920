"""What goes over the live bus, without one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
from redis.exceptions import ConnectionError as RedisAway

from parley.engine.events import Delta, Ended, Event, Opened, Shown
from parley.engine.messages import Part, Reasoning, Refusal, Text, ToolCall, ToolResult
from parley.server.journal.bus import BusMessage, Publisher, read_message, stream_key
from tests.unit.conversation.watching import joined, live
from tests.unit.engine.conversation.stories import hold, random_stories, stories

PARTS: list[Part] = [
    Text(text="Grüße \u2028 \x00 \ufffd"),
    Reasoning(text="hm"),
    Refusal(text="No."),
    ToolCall(id="c1", name="find", arguments='{"a": 1}'),
    ToolResult(id="c1", name="find", content="[]"),
]


class FakeRedis:
    """Remembers what its pipelines were told to add; fails while `is_away`."""

    def __init__(self) -> None:
        self.streams: dict[str, list[bytes]] = {}
        self.expiring: set[str] = set()
        self.is_away = False

    def pipeline(self, *, transaction: bool) -> FakePipeline:
        assert not transaction
        return FakePipeline(self)


class FakePipeline:
    def __init__(self, redis: FakeRedis) -> None:
        self._redis = redis
        self._commands: list[Callable[[], object]] = []

    async def __aenter__(self) -> FakePipeline:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._commands.clear()

    def __len__(self) -> int:
        return len(self._commands)

    def xadd(self, key: str, fields: dict[bytes, bytes], *, nomkstream: bool, **_limits: Any) -> None:
        def add() -> bytes | None:
            if nomkstream and key not in self._redis.streams:
                return None
            self._redis.streams.setdefault(key, []).extend(fields.values())
            return b"1-1"

        self._commands.append(add)

    def expire(self, key: str, _seconds: int) -> None:
        def move() -> bool:
            self._redis.expiring.add(key)
            return True

        self._commands.append(move)

    async def execute(self) -> list[object]:
        if self._redis.is_away:
            raise RedisAway("away")
        return [command() for command in self._commands]


async def at_once(_seconds: float) -> None:
    """No time to wait."""


class Bus:
    """A publisher that flushes when it is told to."""

    def __init__(self) -> None:
        self.redis = FakeRedis()
        self.publisher = Publisher(self.redis, "parley")  # type: ignore[arg-type]
        self.run_id: UUID = uuid4()

    async def flush(self) -> None:
        await self.publisher.__aexit__()

    def show(self, seq: int, *deltas: Delta) -> None:
        for delta in deltas:
            self.publisher.show(self.run_id, seq, delta)

    def messages(self) -> list[BusMessage]:
        return [read_message(raw) for raw in self.redis.streams.get(stream_key("parley", self.run_id), [])]


def user(text: str) -> Shown:
    return Shown(role="user", part=Text(text=text))


OPENED = Opened(role="user", turn=1)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.kind)
async def test_every_part_comes_through(part: Part) -> None:
    bus, shown = Bus(), Shown(role="assistant", part=part)
    bus.show(3, Opened(role="assistant", turn=2, round=4), shown)
    await bus.flush()
    (message,) = bus.messages()
    assert (message.seq, message.number, message.entry) == (3, 0, None)
    assert message.deltas == (Opened(role="assistant", turn=2, round=4), shown)


async def test_neighbouring_words_of_one_kind_are_packed_together() -> None:
    bus = Bus()
    thought = Shown(role="user", part=Reasoning(text="b"))
    bus.show(1, OPENED, user("a"), user("b"), thought, user("c"))
    await bus.flush()
    assert bus.messages()[0].deltas == (OPENED, user("ab"), thought, user("c"))


async def test_calls_are_never_packed_together() -> None:
    bus = Bus()
    calls = [Shown(role="assistant", part=ToolCall(id=f"c{n}", name="f", arguments="")) for n in range(2)]
    bus.show(1, *calls)
    await bus.flush()
    assert bus.messages()[0].deltas == tuple(calls)


async def test_batches_of_one_attempt_are_numbered() -> None:
    bus = Bus()
    bus.show(1, OPENED)
    await bus.flush()
    bus.show(1, user("a"))
    await bus.flush()
    bus.show(1, user("b"))
    await bus.flush()
    assert [(m.seq, m.number) for m in bus.messages()] == [(1, 0), (1, 1), (1, 2)]


async def test_next_attempt_begins_a_new_number() -> None:
    bus = Bus()
    bus.show(1, OPENED, user("a"))
    bus.show(2, OPENED, user("b"))
    await bus.flush()
    assert [(m.seq, m.number, m.deltas) for m in bus.messages()] == [
        (1, 0, (OPENED, user("a"))),
        (2, 0, (OPENED, user("b"))),
    ]


async def test_entry_follows_its_deltas() -> None:
    bus, ended = Bus(), Ended(at_ms=1, cancelled=True)
    bus.show(1, OPENED)
    bus.publisher.kept(bus.run_id, 1, ended)
    await bus.flush()
    deltas, entry = bus.messages()
    assert deltas.deltas == (OPENED,)
    assert (entry.seq, entry.entry) == (1, ended)


async def test_runs_do_not_mix() -> None:
    bus, other = Bus(), uuid4()
    bus.show(1, OPENED)
    bus.publisher.show(other, 5, user("x"))
    await bus.flush()
    assert {key: len(raws) for key, raws in bus.redis.streams.items()} == {
        stream_key("parley", bus.run_id): 1,
        stream_key("parley", other): 1,
    }


async def test_nothing_is_sent_twice() -> None:
    bus = Bus()
    bus.show(1, OPENED)
    await bus.flush()
    await bus.flush()
    assert len(bus.messages()) == 1


async def test_forgotten_run_is_sent_to_its_end() -> None:
    bus = Bus()
    bus.publisher.kept(bus.run_id, 1, Ended(at_ms=1, cancelled=True))
    bus.publisher.forget(bus.run_id)
    await bus.flush()
    assert len(bus.messages()) == 1


async def test_bus_that_is_away_loses_messages_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parley.server.journal.bus.asyncio.sleep", at_once)
    bus = Bus()
    bus.redis.is_away = True
    bus.show(1, OPENED, user("a"))
    await bus.flush()
    bus.redis.is_away = False
    bus.show(1, user("b"))
    await bus.flush()
    assert [(m.number, m.deltas) for m in bus.messages()] == [(1, (user("b"),))], "the number tells of a loss"


async def test_expiry_that_was_not_heard_is_said_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parley.server.journal.bus.asyncio.sleep", at_once)
    bus = Bus()
    bus.show(1, user("a"))
    await bus.flush()
    [key] = bus.redis.expiring
    bus.redis.expiring.clear()  # emptied, and made again by the next words
    bus.redis.is_away = True
    bus.publisher.forget(bus.run_id)
    await bus.flush()
    bus.redis.is_away = False
    await bus.flush()
    assert bus.redis.expiring == {key}
    assert not bus.publisher._runs


async def test_stream_that_is_gone_is_made_anew_with_an_expiry() -> None:
    bus = Bus()
    bus.show(1, OPENED)
    await bus.flush()
    bus.redis.streams.clear()
    bus.redis.expiring.clear()
    bus.show(1, user("a"))
    await bus.flush()
    assert not bus.redis.streams, "nothing is made that would stay for ever"
    bus.show(1, user("b"))
    await bus.flush()
    assert [m.deltas for m in bus.messages()] == [(user("a"),), (user("b"),)], "nothing is lost"
    assert bus.redis.expiring == set(bus.redis.streams)


async def test_conversation_over_the_bus_is_told_alike() -> None:
    chosen = [*stories().values(), *(story for _, story in random_stories(10))]
    for story in chosen:
        run, bus, seq = await hold(story), Bus(), 1
        for at, event in enumerate(run.events):
            if isinstance(event, Opened | Shown):
                bus.show(seq, event)
            else:
                bus.publisher.kept(bus.run_id, seq, event)
                seq += 1
            if at % 3 == 0:
                await bus.flush()
        await bus.flush()
        came: list[Event] = []
        for message in bus.messages():
            came += [message.entry] if message.entry else message.deltas
        max_turns = story.spec.max_turns
        assert joined(live(came, max_turns)) == joined(live(run.events, max_turns))
