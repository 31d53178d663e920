"""Schedules: what a scheduled run answers, and when schedulers look at a test."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("scheduled_for", sa.DateTime(timezone=True), nullable=True))
    op.create_index(
        "uq_runs_scheduled",
        "runs",
        ["account_id", "test_id", "scheduled_for"],
        unique=True,
        postgresql_where=sa.text("scheduled_for IS NOT NULL"),
    )
    op.add_column("agentic_tests", sa.Column("looked_at_from", sa.DateTime(timezone=True), nullable=True))
    op.execute("UPDATE agentic_tests SET looked_at_from = next_run_at WHERE next_run_at IS NOT NULL")
    op.create_check_constraint(
        op.f("ck_agentic_tests_looked_at_when_due"),
        "agentic_tests",
        "(next_run_at IS NULL) = (looked_at_from IS NULL)",
    )
    op.create_index(
        "ix_agentic_tests_due",
        "agentic_tests",
        ["looked_at_from", "account_id"],
        postgresql_where=sa.text("looked_at_from IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_index("ix_agentic_tests_due", table_name="agentic_tests")
    op.drop_constraint(op.f("ck_agentic_tests_looked_at_when_due"), "agentic_tests", type_="check")
    op.drop_column("agentic_tests", "looked_at_from")
    op.drop_index("uq_runs_scheduled", table_name="runs")
    op.drop_column("runs", "scheduled_for")
