"""Schedules of suites, and evaluations of suites that are being carried out."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_MOMENTS = ("next_run_at", "last_skip_due_at")


def upgrade() -> None:
    op.add_column("suites", sa.Column("cron", sa.Text(), nullable=True))
    op.add_column("suites", sa.Column("enabled", sa.Boolean(), server_default="true", nullable=False))
    for column in _MOMENTS:
        op.add_column("suites", sa.Column(column, sa.DateTime(timezone=True), nullable=True))
    op.add_column("suites", sa.Column("last_skip_reason", sa.Text(), nullable=True))
    op.create_index(
        "ix_suites_due",
        "suites",
        ["next_run_at", "account_id"],
        unique=False,
        postgresql_where=sa.text("next_run_at IS NOT NULL"),
    )
    op.create_table(
        "suite_progress",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("evaluation_id", sa.Uuid(), nullable=False),
        sa.Column("looked_at_from", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id", "evaluation_id"],
            ["evaluations.account_id", "evaluations.id"],
            name=op.f("fk_suite_progress_account_id_evaluation_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_suite_progress_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_suite_progress")),
        sa.UniqueConstraint(
            "account_id", "evaluation_id", name=op.f("uq_suite_progress_account_id_evaluation_id")
        ),
    )
    op.create_index("ix_suite_progress_due", "suite_progress", ["looked_at_from"], unique=False)


def downgrade() -> None:
    op.drop_table("suite_progress")
    op.drop_index("ix_suites_due", table_name="suites", postgresql_where=sa.text("next_run_at IS NOT NULL"))
    op.drop_column("suites", "last_skip_reason")
    for column in reversed(_MOMENTS):
        op.drop_column("suites", column)
    op.drop_column("suites", "enabled")
    op.drop_column("suites", "cron")
