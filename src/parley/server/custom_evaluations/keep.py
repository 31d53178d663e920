"""Keeps one score: one statement, fenced by the lease of the result. Scores that wait go in one transaction.

The statement reaches over the tables of other rooms (accounts, ledger, evaluations) on purpose, as the one
for the entries of runs does: score, charges, totals and balance are true together or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

import asyncpg

from parley.server.custom_evaluations.payment import Spent, total
from parley.server.db.database import Database
from parley.server.evaluations.new import Score
from parley.server.evaluations.scoring import Claimed
from parley.server.journal.groups import Groups
from parley.server.journal.keep import patiently
from parley.server.kit import strictjson

# The account's row is locked first, and touched once; then the evaluation's, then the result's.
_PAID = """
WITH account AS (
    UPDATE accounts SET balance = accounts.balance - $5 FROM case_results
     WHERE accounts.id = $1 AND case_results.account_id = $1 AND case_results.id = $3
       AND case_results.status = 'scoring' AND case_results.lease_token = $4
    RETURNING accounts.id
), evaluation AS (
    UPDATE evaluations SET cost = evaluations.cost + $5 FROM account
     WHERE evaluations.account_id = account.id AND evaluations.id = $2
    RETURNING evaluations.account_id, evaluations.id, evaluations.state
)"""

# A score that costs nothing leaves the account's row alone; the evaluation's is held all the same.
_FREE = """
WITH evaluation AS (
    SELECT account_id, id, state FROM evaluations
     WHERE account_id = $1 AND id = $2 AND EXISTS (
           SELECT FROM case_results
            WHERE account_id = $1 AND id = $3 AND status = 'scoring' AND lease_token = $4)
       FOR NO KEY UPDATE
)"""

_SET = "-- set --"
_REST = """, result AS (
    UPDATE case_results -- set --
      FROM evaluation
     WHERE case_results.account_id = evaluation.account_id AND case_results.id = $3
       AND case_results.evaluation_id = evaluation.id
       AND case_results.status = 'scoring' AND case_results.lease_token = $4
    RETURNING case_results.account_id, case_results.id
), before AS (
    SELECT coalesce(max(seq), 0) AS seq FROM ledger
     WHERE account_id = $1 AND source = 'evaluation' AND source_id = $3
), charge AS (
    INSERT INTO ledger (account_id, source, source_id, seq, amount, role, llm,
                        prompt_tokens, cached_prompt_tokens, completion_tokens, estimated)
    SELECT result.account_id, 'evaluation', result.id, before.seq + spent.place, -spent.amount, 'judge',
           spent.llm, spent.prompt, spent.cached, spent.completion, spent.estimated
      FROM result, before,
           unnest($6::numeric[], $7::text[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bool[])
           WITH ORDINALITY AS spent(amount, llm, prompt, cached, completion, estimated, place)
)
SELECT $3::uuid AS result_id, evaluation.state, 1 / (SELECT count(*) FROM result) AS held FROM evaluation
"""

_SCORED = """
       SET status = $12, rating = $13, passed = $14, justification = $15, checks = $16::jsonb,
           error = $17::jsonb, judgement = $18::jsonb, cost = case_results.cost + $5, scored_at = now(),
           lease_token = NULL, lease_until = NULL
"""

# A worker that stops knows what it has spent on a result so far; whoever scores it then pays for the rest.
_HANDED_BACK = """
       SET status = 'pending', cost = case_results.cost + $5,
           attempts = greatest(case_results.attempts - 1, 0), lease_token = NULL, lease_until = NULL
"""

# The result may be lost while the account is waited for: then the division takes the payment back.
_KEEP_PAID, _KEEP_FREE, _HAND_BACK = (
    lock + _REST.replace(_SET, what)
    for lock, what in ((_PAID, _SCORED), (_FREE, _SCORED), (_PAID, _HANDED_BACK))
)


_RENEW = """
UPDATE case_results SET lease_until = now() + make_interval(secs => $4)
 WHERE account_id = $1 AND id = $2 AND status = 'scoring' AND lease_token = $3
RETURNING id
"""


class LeaseLost(Exception):
    """Another scorer has the result, or it has ended: nothing was written, and nothing charged."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A score as the statement takes it."""

    held: Claimed
    values: tuple[object, ...]


def place_of(held: Claimed) -> tuple[UUID, UUID, UUID]:
    """Locks are taken in this order, so that no two groups lock each other out."""
    return held.account_id, held.evaluation_id, held.result_id


async def renew(database: Database, held: Sequence[Claimed], lease_s: float) -> set[UUID]:
    """Hold on to results, all in one piece: the ids of those that are still held."""
    ordered = sorted(held, key=place_of)
    lines = [(each.account_id, each.result_id, each.token, lease_s) for each in ordered]
    async with database.raw() as connection:
        rows = await connection.fetchmany(_RENEW, lines) if lines else []
    return {row["id"] for row in rows}


class Scores:
    """Writes scores."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._paid: Groups[_Line, str] = Groups(partial(self._write, _KEEP_PAID))
        self._free: Groups[_Line, str] = Groups(partial(self._write, _KEEP_FREE))

    async def keep(self, held: Claimed, score: Score, spent: Sequence[Spent]) -> str:
        """Score and charge a result that is `held`; the state that its evaluation is in.

        Waits while the database is away. Raises `LeaseLost`, with nothing written.
        """
        line = _Line(held, _values(held, score, spent))
        groups = self._paid if total(spent) else self._free
        return await groups.add(held.account_id, line)

    async def hand_back(self, held: Claimed, spent: Sequence[Spent]) -> None:
        """Charge what was spent on a result that is `held`, and leave it to others.

        Raises `LeaseLost`, with nothing written, and `DatabaseAway`.
        """
        [written] = await self._write(_HAND_BACK, [_Line(held, _charges(held, spent))])
        if isinstance(written, Exception):
            raise written

    async def _write(self, statement: str, lines: Sequence[_Line]) -> list[str | Exception]:
        """Write `lines`: all in one transaction, or each alone where one of them spoils that."""
        try:
            return await patiently(lambda: self._write_together(statement, lines))
        except asyncpg.PostgresError as fault:
            if len(lines) == 1:
                return [LeaseLost() if isinstance(fault, asyncpg.DivisionByZeroError) else fault]
        return [result for line in lines for result in await self._write(statement, [line])]

    async def _write_together(self, statement: str, lines: Sequence[_Line]) -> list[str | Exception]:
        ordered = sorted(lines, key=lambda line: place_of(line.held))
        async with self._database.raw() as connection:
            rows = await connection.fetchmany(statement, [line.values for line in ordered])
        states = {row["result_id"]: row["state"] for row in rows}
        return [states.get(line.held.result_id) or LeaseLost() for line in lines]


def _values(held: Claimed, score: Score, spent: Sequence[Spent]) -> tuple[object, ...]:
    return (
        *_charges(held, spent),
        score.status,
        score.rating,
        score.passed,
        score.justification,
        strictjson.write([dict(check) for check in score.checks]),
        _json(score.error),
        _json(score.judgement),
    )


def _charges(held: Claimed, spent: Sequence[Spent]) -> tuple[object, ...]:
    usages = [each.usage for each in spent]
    return (
        held.account_id,
        held.evaluation_id,
        held.result_id,
        held.token,
        total(spent),
        [each.amount for each in spent],
        [usage.model for usage in usages],
        [usage.prompt_tokens for usage in usages],
        [usage.cached_prompt_tokens for usage in usages],
        [usage.completion_tokens for usage in usages],
        [usage.estimated for usage in usages],
    )


def _json(value: Any) -> str | None:
    return None if value is None else strictjson.write(dict(value))
