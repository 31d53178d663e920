"""Retention: overrides of accounts, and the indexes that keep its batches cheap."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "retention_overrides",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("days", sa.Integer(), nullable=False),
        sa.Column("set_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("days BETWEEN 1 AND 36500", name=op.f("ck_retention_overrides_days_in_bounds")),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
            name=op.f("fk_retention_overrides_account_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_retention_overrides")),
    )
    op.create_index(
        "ix_runs_ended",
        "runs",
        ["account_id", "state", "finished_at"],
        postgresql_where=sa.text("finished_at IS NOT NULL AND trigger <> 'suite'"),
    )
    op.create_index(
        "ix_agentic_tests_deleted",
        "agentic_tests",
        ["account_id", "id"],
        postgresql_where=sa.text("deleted_at IS NOT NULL"),
    )
    op.create_index(
        "ix_direct_calls_ended",
        "direct_calls",
        ["account_id", "finished_at"],
        postgresql_where=sa.text("state = 'ended'"),
    )


def downgrade() -> None:
    op.drop_index("ix_direct_calls_ended", table_name="direct_calls")
    op.drop_index("ix_agentic_tests_deleted", table_name="agentic_tests")
    op.drop_index("ix_runs_ended", table_name="runs")
    op.drop_table("retention_overrides")
