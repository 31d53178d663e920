"""Bugs that the harness must find. Its processes load this at their start when it plants one."""

from __future__ import annotations

import os
from typing import Any


def _charge_outside_the_entry() -> None:
    """Keep the entry first, and charge for it afterwards in a statement of its own."""
    import asyncio

    from parley.server.journal import keep

    charging = """
        WITH paid AS (UPDATE accounts SET balance = balance - $4 WHERE id = $1),
             run AS (UPDATE runs SET cost = cost + $4 WHERE id = $2),
             entry AS (UPDATE entries SET cost = $4 WHERE run_id = $2 AND seq = $3)
        INSERT INTO ledger (account_id, source, source_id, seq, amount, role, llm)
        VALUES ($1, 'run', $2, $3, -$4, $5, $6)
    """
    keep_all = keep.Journal.keep

    async def keep_then_charge(
        journal: Any, lease: Any, seq: int, entry: Any, charge: Any, *rest: Any
    ) -> Any:
        standing = await keep_all(journal, lease, seq, entry, None, *rest)
        if charge is not None:
            await asyncio.sleep(0.5)
            values = (lease.account_id, lease.run_id, seq, charge.amount, charge.role, charge.usage.model)
            async with journal._database.raw() as connection:
                await connection.execute(charging, *values)
        return standing

    setattr(keep.Journal, "keep", keep_then_charge)  # noqa: B010


def _claim_without_looking_at_the_lease() -> None:
    """Take whatever is open, whoever holds it."""
    from parley.server.runs import claim

    looks = "AND (lease_until IS NULL OR lease_until < now())"
    checked = claim._CLAIM
    assert looks in checked
    setattr(claim, "_CLAIM", checked.replace(looks, ""))  # noqa: B010


def _count_tasks() -> None:
    """No bug: note the tasks of the process beside its data, for the soak."""
    import asyncio
    from pathlib import Path

    import uvloop

    run = uvloop.run

    async def counting(main: Any) -> Any:
        async def count() -> None:
            note = Path(os.environ["FAULTS_TASKS"]) / f"{os.getpid()}.tasks"
            while True:
                note.write_text(str(len(asyncio.all_tasks())))
                await asyncio.sleep(2)

        counter = asyncio.create_task(count())
        try:
            return await main
        finally:
            counter.cancel()

    uvloop.run = lambda main, **options: run(counting(main), **options)


PLANTS = {
    "count-tasks": _count_tasks,
    "charge-outside": _charge_outside_the_entry,
    "claim-without-lease": _claim_without_looking_at_the_lease,
}

for plant in filter(None, os.environ.get("FAULTS_PLANT", "").split(",")):
    PLANTS[plant]()
