"""The live bus: what is shown now, from the process that holds a run to those who watch it.

One Redis stream a run. A message is a batch of deltas of the entry that comes next, or a kept entry; what
leaves together is one element of the stream, its messages in order.
The bus may lose anything at any moment: watchers notice a gap by the numbers and read the journal.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from uuid import UUID

import orjson
from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.exceptions import RedisError
from redis.typing import EncodableT, FieldT

from parley.engine.events import ENTRY, Delta, Entry, Opened, Shown
from parley.engine.messages import Part, Reasoning, Refusal, Text, ToolCall, ToolResult
from parley.server.kit.tasks import end_tasks

FLUSH_S = 0.05
"""How long deltas gather before they leave; below what a reader notices."""
KEPT_BATCHES = 500
"""About 25 s of text, so that who joins in the middle of a message sees its beginning."""
EXPIRE_S = 600
EXPIRY_MOVED_S = 60.0
"""Moving it with every message would double the commands; a stream that is quiet lasts a minute less."""

_log = logging.getLogger(__name__)


def stream_key(prefix: str, run_id: UUID) -> str:
    """The Redis key of a run's live stream."""
    return f"{prefix}:live:{run_id}"


@dataclass(slots=True)
class _Pending:
    seq: int = 0
    number: int = 0
    deltas: list[Delta] = field(default_factory=list)
    messages: list[bytes] = field(default_factory=list)
    expiry_due_s: float = 0.0


_Sent: TypeAlias = tuple[UUID, list[bytes]]
"""The run of a command, and the messages it carries."""


class Publisher:
    """Gathers what all runs of this process show, and sends it in one pipeline every `FLUSH_S`."""

    def __init__(self, redis: Redis, prefix: str) -> None:
        self._redis = redis
        self._prefix = prefix
        self._runs: dict[UUID, _Pending] = {}
        self._dirty: set[UUID] = set()
        self._ended: set[UUID] = set()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Publisher:
        self._task = asyncio.create_task(self._flush_for_ever(), name="bus-flush")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task:
            await end_tasks(self._task)
        await self._flush()

    def show(self, run_id: UUID, seq: int, delta: Delta) -> None:
        """Send a delta of the entry that will get `seq`."""
        pending = self._of(run_id)
        if isinstance(delta, Opened) or pending.seq != seq:
            self._close(pending)
            pending.seq, pending.number = seq, 0
        pending.deltas.append(delta)
        self._touch(run_id)

    def kept(self, run_id: UUID, seq: int, entry: Entry, written: bytes | None = None) -> None:
        """Send a kept entry. Only call it once the entry is committed.

        `written` is the entry as JSON, where the caller has it.
        """
        pending = self._of(run_id)
        self._close(pending)
        pending.messages.append(b'{"seq":%d,"entry":%b}' % (seq, written or ENTRY.dump_json(entry)))
        self._touch(run_id)

    def forget(self, run_id: UUID) -> None:
        """The run has ended here: once all of it is sent, nothing of it is kept in memory."""
        self._ended.add(run_id)
        self._touch(run_id)

    def _of(self, run_id: UUID) -> _Pending:
        pending = self._runs.get(run_id)
        if pending is None:
            pending = self._runs[run_id] = _Pending()
        return pending

    def _touch(self, run_id: UUID) -> None:
        self._dirty.add(run_id)
        self._wake.set()

    def _close(self, pending: _Pending) -> None:
        if pending.deltas:
            body = {
                "seq": pending.seq,
                "number": pending.number,
                "at_ms": time.time_ns() // 1_000_000,
                "deltas": _packed(pending.deltas),
            }
            pending.messages.append(orjson.dumps(body))
            pending.number += 1
            pending.deltas = []

    async def _flush_for_ever(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self._flush()
            except Exception:
                # One message that cannot be sent must not end the bus of all other runs.
                _log.exception("live bus: what was waiting is dropped, watchers read the journal")
            await asyncio.sleep(FLUSH_S)

    async def _flush(self) -> None:
        async with self._redis.pipeline(transaction=False) as pipeline:
            ended, sent = self._fill(pipeline)
            if not len(pipeline):
                return
            try:
                replies = await pipeline.execute()
            except (RedisError, OSError) as error:
                _log.warning("live bus away, watchers read the journal: %s", type(error).__name__)
                self._owe_expiry(ended)
                await asyncio.sleep(1.0)
            else:
                self._send_again(sent, replies)

    def _send_again(self, sent: Sequence[_Sent], replies: Sequence[object]) -> None:
        """Make anew the streams that are gone, for Redis was emptied: with an expiry, like every new one."""
        for (run_id, messages), reply in zip(sent, replies, strict=True):
            if reply is None:
                pending = self._of(run_id)
                pending.expiry_due_s = 0.0
                pending.messages[:0] = messages
                self._touch(run_id)

    def _owe_expiry(self, ended: Sequence[UUID]) -> None:
        """Say again when streams expire: a Redis that was emptied meanwhile would keep them for ever."""
        for pending in self._runs.values():
            pending.expiry_due_s = 0.0
        for run_id in ended:
            self.forget(run_id)

    def _fill(self, pipeline: Pipeline) -> tuple[list[UUID], list[_Sent]]:
        """Fill in what waits; the runs that have ended with it, and what each command carries.

        Only what also sets the expiry makes a stream.
        """
        dirty, self._dirty = self._dirty, set()
        ended: list[UUID] = []
        sent: list[_Sent] = []
        for run_id in dirty:
            pending, key = self._of(run_id), stream_key(self._prefix, run_id)
            self._close(pending)
            has_ended = run_id in self._ended
            is_due = has_ended or time.monotonic() >= pending.expiry_due_s
            if pending.messages:
                fields = _fields(pending.messages)
                pipeline.xadd(key, fields, maxlen=KEPT_BATCHES, approximate=True, nomkstream=not is_due)
                sent.append((run_id, pending.messages))
                pending.messages = []
            if is_due:
                pending.expiry_due_s = time.monotonic() + EXPIRY_MOVED_S
                pipeline.expire(key, EXPIRE_S)
                sent.append((run_id, []))
            if has_ended:
                self._ended.discard(run_id)
                del self._runs[run_id]
                ended.append(run_id)
        return ended, sent


def _fields(messages: Sequence[bytes]) -> dict[FieldT, EncodableT]:
    """The element of a stream that carries `messages`; who reads it takes its values in order."""
    return {b"m%d" % number if number else b"m": message for number, message in enumerate(messages)}


def _packed(deltas: Sequence[Delta]) -> list[list[Any]]:
    """Deltas as short lists; neighbouring words of one kind become one."""
    packed: list[list[Any]] = []
    for delta in deltas:
        if isinstance(delta, Opened):
            packed.append(["opened", delta.role, delta.turn, delta.round])
            continue
        match delta.part:
            case Text() | Reasoning() | Refusal() as words:
                if packed and packed[-1][0] == words.kind:
                    packed[-1][2] += words.text
                else:
                    packed.append([words.kind, delta.role, words.text])
            case ToolCall() as call:
                packed.append([call.kind, delta.role, call.id, call.name, call.arguments])
            case ToolResult() as result:
                packed.append([result.kind, delta.role, result.id, result.name, result.content])
    return packed


def _delta(kind: str, role: Any, *rest: Any) -> Delta:
    if kind == "opened":
        return Opened(role=role, turn=rest[0], round=rest[1])
    return Shown(role=role, part=_part(kind, *rest))


def _part(kind: str, *rest: str) -> Part:
    match kind:
        case "content":
            return Text(text=rest[0])
        case "reasoning":
            return Reasoning(text=rest[0])
        case "refusal":
            return Refusal(text=rest[0])
        case "tool_call":
            return ToolCall(id=rest[0], name=rest[1], arguments=rest[2])
        case _:
            return ToolResult(id=rest[0], name=rest[1], content=rest[2])


@dataclass(frozen=True, slots=True)
class BusMessage:
    """A message read from the bus: deltas (the `number`-th batch of `seq`), or the kept entry `seq`."""

    seq: int
    number: int = 0
    at_ms: int = 0
    deltas: tuple[Delta, ...] = ()
    entry: Entry | None = None


def read_message(raw: bytes) -> BusMessage:
    """Read one message of the bus."""
    body = orjson.loads(raw)
    if "entry" in body:
        return BusMessage(seq=body["seq"], entry=ENTRY.validate_python(body["entry"]))
    return BusMessage(
        seq=body["seq"],
        number=body["number"],
        at_ms=body["at_ms"],
        deltas=tuple(_delta(*line) for line in body["deltas"]),
    )
