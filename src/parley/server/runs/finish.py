"""The end of a run: entry, state and result in one statement, fenced by the lease.

The first of cancel and end to commit wins: once a cancellation is recorded, no other end is.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from parley.engine.events import ENTRY, Ended, HookCalled, Verdict
from parley.engine.state import State
from parley.server.conversation.narrate import verdict_data
from parley.server.db.database import Database
from parley.server.db.raw import RawConnection
from parley.server.journal.keep import Lease, LeaseLost
from parley.server.kit import strictjson

# What the end calls for (notifications) is not done here: the outbox row is true together with it.
_FINISH = """
WITH ended AS (
    UPDATE runs SET state = $5, outcome = $6, score = $7, result = $8::jsonb, error = $9::jsonb,
                    last_seq = $4, turn = $10, finished_at = now(), updated_at = now(),
                    lease_token = NULL, lease_until = NULL
     WHERE account_id = $1 AND id = $2 AND lease_token = $3 AND state = 'running'
       AND last_seq = $4 - 1 AND (cancel_requested_at IS NULL OR $5 = 'cancelled')
    RETURNING account_id, id, test_id
), told AS (
    INSERT INTO outbox (account_id, kind, group_id, subject_id)
    SELECT account_id, 'run_ended', test_id, id FROM ended
)
INSERT INTO entries (account_id, run_id, seq, kind, turn, body)
SELECT account_id, id, $4, 'ended', $10, $11::jsonb FROM ended
RETURNING seq
"""

_CANCELLED = """
SELECT cancel_requested_at IS NOT NULL AS cancelled FROM runs
 WHERE account_id = $1 AND id = $2 AND lease_token = $3 AND state = 'running' AND last_seq = $4 - 1
"""

_WRITTEN = """
SELECT true FROM entries WHERE account_id = $1 AND run_id = $2 AND seq = $3 AND body = $4::jsonb
"""


async def finish(database: Database, lease: Lease, state: State, ended: Ended) -> Ended:
    """Write the end and tell which one it is: `ended`, or a cancellation that came first.

    Repeating a call whose answer was lost changes nothing. Raises `LeaseLost`, and `DatabaseAway`.
    """
    cancelled = Ended(at_ms=ended.at_ms, cancelled=True, scope=ended.scope)
    async with database.raw() as connection:
        if await _write(connection, lease, state, ended):
            return ended
        row = await connection.fetchrow(
            _CANCELLED, lease.account_id, lease.run_id, lease.token, state.seq + 1
        )
        if row and row["cancelled"] and await _write(connection, lease, state, cancelled):
            return cancelled
        for end in (ended, cancelled):
            if await _is_written(connection, lease, state, end):
                return end
    raise LeaseLost


async def _is_written(connection: RawConnection, lease: Lease, state: State, ended: Ended) -> bool:
    body = ENTRY.dump_json(ended).decode()
    return bool(await connection.fetchval(_WRITTEN, lease.account_id, lease.run_id, state.seq + 1, body))


async def _write(connection: RawConnection, lease: Lease, state: State, ended: Ended) -> bool:
    score = score_of(state)
    row = await connection.fetchrow(
        _FINISH,
        lease.account_id,
        lease.run_id,
        lease.token,
        state.seq + 1,
        run_state(ended),
        ended.verdict.outcome if ended.verdict else None,
        score,
        strictjson.write(result_of(state, ended)),
        strictjson.write(error_of(ended)) if ended.failure else None,
        state.turn,
        ENTRY.dump_json(ended).decode(),
    )
    return row is not None


def run_state(ended: Ended) -> str:
    """The run's terminal state. An interrupted conversation is a failed run."""
    if ended.cancelled:
        return "cancelled"
    if ended.verdict is None or ended.verdict.outcome == "interrupted":
        return "failed"
    return "succeeded"


def score_of(state: State) -> Decimal | None:
    """The final conversation_delta; None without any opinion."""
    return state.opinion.conversation_delta if state.opinion else None


def result_of(state: State, ended: Ended) -> dict[str, Any]:
    """The result as the API shows it, also where there is no outcome."""
    opinion = state.opinion
    result: dict[str, Any] = {
        "outcome": None,
        "reason": None,
        "state": None,
        "turn_number": state.turn,
        "score": float(opinion.conversation_delta) if opinion else None,
        "conversation_delta": float(opinion.conversation_delta) if opinion else 0.5,
        "loss_streak": opinion.loss_streak if opinion else 0,
    }
    if ended.verdict:
        result.update(_verdict(ended.verdict))
    if ended.behaviour:
        result["behaviour"] = _verdict(ended.behaviour)
    result["hooks"] = hook_audit(state.hooks)
    return result


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {"score": None, **verdict_data(verdict)}


def error_of(ended: Ended) -> dict[str, Any] | None:
    """Why the run failed, as the API shows it."""
    failure = ended.failure
    if failure is None:
        return None
    return {
        "code": failure.code,
        "message": failure.message,
        "scope": failure.scope,
        "turn": failure.turn,
    }


def hook_audit(calls: Sequence[HookCalled]) -> list[dict[str, Any]]:
    """What was sent where, and what came back."""
    return [
        {
            "event": call.event,
            "url": call.url,
            "timestamp": call.at_ms,
            "called": call.called,
            "status": call.status,
            "error": call.error,
            "continued": call.continued,
            "body": call.body,
        }
        for call in calls
    ]
