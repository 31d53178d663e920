"""Runs: one execution of a test each."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, Index, Integer, text
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Dated, Owned, Table, same_account
from parley.server.kit.money import ZERO_USD

OPEN_STATES = ("pending", "running")
ENDED_STATES = ("succeeded", "failed", "cancelled")
STATES = (*OPEN_STATES, *ENDED_STATES)


class Run(Owned, Dated, Table):
    """One execution of one test.

    A pending run with `admitted_at` holds a slot and waits for a worker; `lease_token` names the
    worker's right to write entries, until `lease_until` on the database's clock.
    """

    __tablename__ = "runs"
    __table_args__ = (
        CheckConstraint(
            "state IN ('pending', 'running', 'succeeded', 'failed', 'cancelled')", name="state_known"
        ),
        same_account("test_id", "agentic_tests"),
        Index("uq_runs_id", "id", unique=True),
        Index("ix_runs_test", "account_id", "test_id", "id"),
        # A page of one state: statements name the state itself, so that its small index always wins
        # over the one above, also in a plan made for any test.
        *(
            Index(
                f"ix_runs_test_{state}",
                "account_id",
                "test_id",
                "id",
                postgresql_where=text(f"state = '{state}'"),
            )
            for state in ENDED_STATES
        ),
        Index(
            "ix_runs_test_open",
            "account_id",
            "test_id",
            "id",
            postgresql_where=text("state IN ('pending', 'running')"),
        ),
        # One run for each due time, whoever starts it; also finds a test's last scheduled run.
        Index(
            "uq_runs_scheduled",
            "account_id",
            "test_id",
            "scheduled_for",
            unique=True,
            postgresql_where=text("scheduled_for IS NOT NULL"),
        ),
        Index("ix_runs_open", "account_id", "id", postgresql_where=text("state IN ('pending', 'running')")),
        # However long one account's backlog is, the runs that hold slots are few and found apart from it.
        Index(
            "ix_runs_waiting",
            "account_id",
            "id",
            postgresql_where=text("state = 'pending' AND admitted_at IS NULL"),
        ),
        Index(
            "ix_runs_slots",
            "account_id",
            "id",
            postgresql_where=text("state IN ('pending', 'running') AND admitted_at IS NOT NULL"),
        ),
        # What retention removes, oldest first; runs of suites belong to evaluations and are none of it.
        Index(
            "ix_runs_ended",
            "account_id",
            "state",
            "finished_at",
            postgresql_where=text("finished_at IS NOT NULL AND trigger <> 'suite'"),
        ),
        # Every entry updates its run: room on the page keeps those updates away from the indexes.
        {"postgresql_with": {"fillfactor": "70"}},
    )

    test_id: Mapped[UUID]
    state: Mapped[str] = mapped_column(default="pending", server_default="pending")
    trigger: Mapped[str]
    """manual, schedule or suite."""
    scheduled_for: Mapped[datetime | None]
    """The due time a scheduled run answers."""
    revision: Mapped[str]
    seed: Mapped[int]
    external_user_id: Mapped[str | None]
    definition: Mapped[dict[str, Any]]
    """The snapshot the run is carried out from."""
    result: Mapped[dict[str, Any] | None]
    error: Mapped[dict[str, Any] | None]
    outcome: Mapped[str | None]
    score: Mapped[Decimal | None]
    cost: Mapped[Decimal] = mapped_column(default=ZERO_USD, server_default="0")
    """US dollars; the sum of what its entries cost."""
    turn: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    last_seq: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    admitted_at: Mapped[datetime | None]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    cancel_requested_at: Mapped[datetime | None]
    lease_token: Mapped[UUID | None]
    lease_until: Mapped[datetime | None]
