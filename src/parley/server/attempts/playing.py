"""An attempt in the hands of this process, as players see it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from parley.engine.script.draft import AttemptPlan
from parley.engine.script.record import AttemptRecord
from parley.engine.script.work import Stopping
from parley.server.attempts import keep as keeping
from parley.server.attempts.keep import Charge, Funds, Held
from parley.server.attempts.schemas import Contact, TargetKind
from parley.server.db.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What an attempt is played from, as it stood when it was claimed."""

    held: Held
    plan: AttemptPlan
    target_kind: TargetKind
    target: Mapping[str, Any]
    """The frozen target, as `plans.Script` says."""
    judge: Mapping[str, Any] | None
    """Who judges, as `plans.Script` says."""
    takes: int
    """Workers that have held it, this one included."""
    cursor: int
    record: AttemptRecord | None
    """What an earlier worker kept."""
    last_charge: int
    is_cancelled: bool
    replay_safe: bool
    funds: Funds
    multiplier: Decimal
    """The plan's, on what the operator's llms cost."""


class Playing:
    """A held attempt. Every method raises `LeaseLost` once somebody else has it."""

    def __init__(self, work: Work, database: Database) -> None:
        self.work = work
        self.stopping = Stopping()
        """The wish to end it early: it was cancelled."""
        self.funds = work.funds
        self._database = database
        self._seq = work.last_charge
        self._charging = asyncio.Lock()

    @property
    def is_new(self) -> bool:
        """Whether no worker has held it before."""
        return self.work.takes <= 1

    async def charge(self, one: Charge) -> None:
        """Charge an inference that was made, once. Waits while the database is away."""
        async with self._charging:
            self._seq += 1
            self.funds = await keeping.charge(self._database, self.work.held, self._seq, one)

    async def keep(
        self,
        record: AttemptRecord | None = None,
        *,
        cursor: int | None = None,
        contact: Contact | None = None,
        was_heard: bool = False,
    ) -> None:
        """Keep what there is so far: the record, and for a remote app how far it was heard.

        `contact` is how it stands with the app now, None if all is well; `was_heard` notes the moment.
        """
        await keeping.keep(
            self._database, self.work.held, record, cursor=cursor, contact=contact, was_heard=was_heard
        )
