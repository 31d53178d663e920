"""What must hold of the rows when everything is over, each promise as two statements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Promise:
    """A promise about rows: `broken` selects one text for each that breaks it, `all` counts them."""

    name: str
    all: str
    broken: str


PROMISES: Final = (
    Promise(
        "every run reached one terminal state",
        "SELECT count(*) FROM runs",
        "SELECT id || ' is ' || state FROM runs WHERE finished_at IS NULL"
        " OR state NOT IN ('succeeded', 'failed', 'cancelled')",
    ),
    Promise(
        "every run has one end, its last entry",
        "SELECT count(*) FROM runs",
        "SELECT runs.id || ' has ends at ' || coalesce(string_agg(seq::text, ','), 'none')"
        "  FROM runs LEFT JOIN entries ON run_id = runs.id AND kind = 'ended'"
        " GROUP BY runs.id HAVING count(seq) <> 1 OR max(seq) IS DISTINCT FROM max(runs.last_seq)",
    ),
    Promise(
        "entries are a sequence without gaps",
        "SELECT count(*) FROM entries",
        "SELECT runs.id || ': ' || count(seq) || ' entries up to ' || runs.last_seq FROM runs"
        "  LEFT JOIN entries ON run_id = runs.id GROUP BY runs.id, runs.last_seq"
        " HAVING count(seq) <> runs.last_seq OR min(seq) <> 1 OR max(seq) <> runs.last_seq",
    ),
    Promise(
        "no turn was spoken or judged twice",
        "SELECT count(*) FROM entries WHERE kind IN ('user', 'assistant', 'opinion')",
        "SELECT run_id || ' has ' || count(*) || ' of ' || kind || ' in turn ' || turn FROM entries"
        " WHERE kind IN ('user', 'assistant', 'opinion')"
        " GROUP BY run_id, kind, turn, body->>'round' HAVING count(*) > 1",
    ),
    Promise(
        "every entry that used something has one charge, of its cost",
        "SELECT count(*) FROM ledger WHERE source = 'run'",
        "SELECT entries.run_id || ' seq ' || entries.seq || ' (' || kind || '): cost ' || entries.cost"
        "       || ', charged ' || coalesce(ledger.amount::text, 'not at all')"
        "  FROM entries LEFT JOIN ledger"
        "    ON source = 'run' AND source_id = run_id AND ledger.seq = entries.seq"
        " WHERE (jsonb_typeof(body->'usage') = 'object') <> (ledger.seq IS NOT NULL)"
        "    OR entries.cost <> coalesce(-ledger.amount, 0)"
        "    OR (kind IN ('user', 'opinion') AND entries.cost = 0)",
    ),
    Promise(
        "no charge is without its entry",
        "SELECT count(*) FROM ledger WHERE source = 'run'",
        "SELECT source_id || ' seq ' || ledger.seq FROM ledger LEFT JOIN entries"
        "    ON run_id = source_id AND entries.seq = ledger.seq WHERE source = 'run' AND entries.seq IS NULL",
    ),
    Promise(
        "a run costs what its entries cost",
        "SELECT count(*) FROM runs",
        "SELECT runs.id || ': ' || runs.cost || ' against ' || coalesce(sum(entries.cost), 0) FROM runs"
        "  LEFT JOIN entries ON run_id = runs.id GROUP BY runs.id, runs.cost"
        " HAVING runs.cost <> coalesce(sum(entries.cost), 0)",
    ),
    Promise(
        "a direct evaluation costs what it was charged",
        "SELECT count(*) FROM direct_calls",
        "SELECT direct_calls.id || ': ' || cost || ' against ' || coalesce(-sum(amount), 0) FROM direct_calls"
        "  LEFT JOIN ledger ON source = 'direct' AND source_id = direct_calls.id"
        " GROUP BY direct_calls.id, cost HAVING cost <> coalesce(-sum(amount), 0)",
    ),
    Promise(
        "a balance is the sum of its ledger",
        "SELECT count(*) FROM accounts",
        "SELECT accounts.id || ': ' || balance || ' against ' || sum(amount) FROM accounts"
        "  JOIN ledger ON account_id = accounts.id GROUP BY accounts.id HAVING balance <> sum(amount)",
    ),
    Promise(
        "no slot and no lease is left over",
        "SELECT (SELECT count(*) FROM runs) + (SELECT count(*) FROM direct_calls)",
        "SELECT 'run ' || id FROM runs WHERE lease_token IS NOT NULL OR lease_until IS NOT NULL"
        " UNION ALL SELECT 'direct evaluation ' || id FROM direct_calls WHERE state = 'running'",
    ),
    Promise(
        "every unit of quota belongs to one start",
        "SELECT count(*) FROM audit.units",
        "SELECT accounts.id || ': ' || units || ' units, ' || starts || ' starts' FROM accounts,"
        " LATERAL (SELECT count(*) AS units FROM audit.units WHERE account_id = accounts.id) AS spent,"
        " LATERAL (SELECT (SELECT count(*) FROM runs WHERE account_id = accounts.id)"
        "   + (SELECT count(*) FROM direct_calls WHERE account_id = accounts.id) AS starts) AS made"
        " WHERE units <> starts",
    ),
    Promise(
        "no idempotency key made two runs",
        "SELECT count(*) FROM idempotency_keys",
        "SELECT account_id || ': ' || count(*) || ' runs' FROM runs GROUP BY account_id HAVING count(*) <>"
        " (SELECT count(*) FROM idempotency_keys WHERE idempotency_keys.account_id = runs.account_id)",
    ),
    Promise(
        "a lease is kept, a terminal state stays, no entry is skipped",
        "SELECT count(*) FROM runs",
        "SELECT run_id || ' ' || what FROM audit.breaches",
    ),
    Promise(
        "a run is given up only after three takeovers without progress",
        "SELECT count(*) FROM runs",
        "SELECT id || ': ' || (error->>'message') FROM runs WHERE error->>'code' = 'worker_lost' AND 3 > ("
        "SELECT count(*) FROM entries WHERE run_id = runs.id AND kind = 'spent' AND seq >= last_seq - 3"
        "   AND body->>'code' = 'worker_lost')",
    ),
    Promise(
        "no run failed for a reason of ours",
        "SELECT count(*) FROM runs",
        "SELECT id || ': ' || (error->>'code') || ', ' || (error->>'message') FROM runs"
        " WHERE state = 'failed' AND error->>'code' <> 'worker_lost'",
    ),
    Promise(
        "every end was reacted to",
        "SELECT count(*) FROM runs",
        "SELECT subject_id || ' waits, tries ' || tries FROM outbox",
    ),
)
