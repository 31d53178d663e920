"""The tick that tells of red gates: each evaluation's first recorded one, once."""

from __future__ import annotations

import logging
from typing import Final
from uuid import UUID

from parley.server.db.database import Database
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import GateRecord
from parley.server.errors import DatabaseAway
from parley.server.evaluations.repository import GateRepository
from parley.server.kit.ticks import every
from parley.server.notifications.facts import AboutGate
from parley.server.notifications.teller import Teller
from parley.server.queue import outbox

MOST_GROUPS: Final = 100
"""Evaluations looked at in one round."""

_log = logging.getLogger(__name__)


class GateAlerts:
    """A tick of every worker process. The row of the outbox goes in the transaction that tells of it."""

    def __init__(self, database: Database, teller: Teller, tick_s: float) -> None:
        self._database = database
        self._teller = teller
        self._tick_s = tick_s

    async def run(self) -> None:
        """Tell every tick until cancelled."""
        await every(self._tick_s, "alerts of gates", self.once)

    async def once(self) -> None:
        """Tell of every red gate that nobody was told of."""
        async with self._database.session() as session:
            groups = await outbox.due_groups(session, outbox.GATE_FAILED, MOST_GROUPS)
        for account_id, evaluation_id in groups:
            await self._tell(AccountScope(account_id), evaluation_id)

    async def _tell(self, scope: AccountScope, evaluation_id: UUID) -> None:
        try:
            async with self._database.session() as session:
                await tell(session, scope, self._teller, evaluation_id)
        except DatabaseAway:
            raise
        except Exception:
            _log.exception("the alert of a gate of evaluation %s broke", evaluation_id)
            async with self._database.session() as session:
                await outbox.put_off(session, scope, outbox.GATE_FAILED, evaluation_id)


async def tell(session: Session, scope: AccountScope, teller: Teller, evaluation_id: UUID) -> None:
    """Tell of an evaluation's red gate within the transaction, unless somebody else has taken it."""
    for record_id in await outbox.take(session, scope, outbox.GATE_FAILED, evaluation_id):
        record = await GateRepository(session, scope).get(record_id)
        if record is not None:
            await teller.tell_of_gate(session, scope, facts_of(record))


def facts_of(record: GateRecord) -> AboutGate:
    """A record as notifications tell it."""
    broken = [check for check in record.answer["checks"] if check["passed"] is False]
    return AboutGate(
        id=record.id,
        evaluation_id=record.evaluation_id,
        name=record.name,
        branch=record.branch,
        commit=record.commit,
        caller=record.caller or None,
        checks=[check["check"] for check in broken],
        details=[check["detail"] for check in broken],
        at=record.created_at,
    )
