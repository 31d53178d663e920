"""Runs with a conversation that nobody held: long ones, hostile ones, and many at once."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

from parley.engine.chat.pieces import Usage
from parley.engine.events import ENTRY, AssistantSpoke, Ended, Entry, Opinion, Timing, UserSpoke, Verdict
from parley.engine.messages import Text
from parley.engine.state import State
from parley.server.db.database import Database
from parley.server.kit import strictjson
from parley.server.kit.ids import new_id
from parley.server.runs.finish import result_of

BEGAN_MS = 1_800_000_000_000

_ENTRIES = """
INSERT INTO entries (account_id, run_id, seq, kind, turn, body, cost)
SELECT account_id, id, made.seq, made.kind, made.turn, made.body, 0.001
  FROM runs, unnest($2::int[], $3::text[], $4::int[], $5::jsonb[]) AS made(seq, kind, turn, body)
 WHERE id = $1
"""
_END = """
UPDATE runs SET state = 'succeeded', outcome = $2, score = $3, result = $4, last_seq = $5::int, turn = $6,
       started_at = created_at, finished_at = created_at + interval '90 seconds', cost = 0.001 * $5::int
 WHERE id = $1
"""
_MANY = """
INSERT INTO runs (account_id, id, test_id, state, trigger, revision, seed, definition, outcome, score,
                  cost, turn, created_at, started_at, finished_at)
SELECT model.account_id, made.id, model.test_id, 'succeeded', 'manual', model.revision, made.place,
       model.definition, CASE WHEN made.place % 4 = 0 THEN 'loss' ELSE 'success' END,
       CASE WHEN made.place % 4 = 0 THEN 0.1 ELSE 0.95 END, 0.01, model.turn, began, began,
       began + interval '40 seconds'
  FROM runs AS model, unnest($2::uuid[]) WITH ORDINALITY AS made(id, place),
       LATERAL (SELECT now() - make_interval(mins => $3 - made.place::int) AS began) AS times
 WHERE model.id = $1
"""


def usage() -> Usage:
    """Some tokens."""
    return Usage(model="told", prompt_tokens=900, completion_tokens=120)


def timing(turn: int, took_ms: int = 800) -> Timing:
    """When something was said."""
    return Timing(at_ms=BEGAN_MS + turn * 5_000, took_ms=took_ms, first_piece_ms=150)


def turn_of(turn: int, said: str, answer: str, score: float, reasoning: str = "Weighed.") -> list[Entry]:
    """One exchange and its opinion."""
    value = Decimal(str(score))
    return [
        UserSpoke(turn=turn, parts=(Text(text=said),), usage=usage(), timing=timing(turn)),
        AssistantSpoke(turn=turn, round=1, parts=(Text(text=answer),), usage=usage(), timing=timing(turn)),
        Opinion(
            turn=turn,
            reasoning=reasoning,
            score=value,
            turn_delta=2 * value - 1,
            conversation_delta=value,
            loss_streak=0,
            required_loss_streak=2,
            state="active",
            passed=True,
            should_continue=True,
            usage=usage(),
            timing=timing(turn),
        ),
    ]


async def tell(database: Database, run_id: UUID, entries: Sequence[Entry]) -> None:
    """Let a run that waits have had this conversation, to an end without a verdict of success."""
    turns = max(one.turn for one in entries if not isinstance(one, Ended))
    scores = [one.score for one in entries if isinstance(one, Opinion)]
    ended = Ended(
        at_ms=BEGAN_MS,
        verdict=Verdict(
            outcome="incomplete",
            reason="max_turns_reached",
            state="max_turns",
            turn_number=turns,
            score=scores[-1],
            conversation_delta=scores[-1],
            loss_streak=0,
        ),
    )
    rows: list[Entry] = [*entries, ended]
    columns: tuple[list[Any], ...] = (
        list(range(1, len(rows) + 1)),
        [one.kind for one in rows],
        [getattr(one, "turn", 0) for one in rows],
        [ENTRY.dump_json(one).decode() for one in rows],
    )
    result = result_of(State(), ended)
    async with database.raw() as connection:
        await connection.execute(_ENTRIES, run_id, *columns)
        await connection.execute(
            _END, run_id, "incomplete", scores[-1], strictjson.write(result), len(rows), turns
        )


async def multiply(database: Database, run_id: UUID, count: int) -> list[UUID]:
    """`count` more runs of a run's test, a minute after each other, every fourth a loss; oldest first."""
    ids = [new_id() for _ in range(count)]
    async with database.raw() as connection:
        await connection.execute(_MANY, run_id, ids, count)
    return ids
