"""Agentic tests."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "agentic_tests",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("gateway_id", sa.Uuid(), nullable=True),
        sa.Column("integrated_llm", sa.Text(), nullable=True),
        sa.Column("fields", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("cron", sa.Text(), nullable=True),
        sa.Column("enabled", sa.Boolean(), server_default="true", nullable=False),
        sa.Column("failure_notification", sa.Boolean(), server_default="true", nullable=False),
        sa.Column("notification_threshold", sa.Integer(), server_default="1", nullable=False),
        sa.Column("recovery_notification", sa.Boolean(), server_default="true", nullable=False),
        sa.Column("outcome_notification", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("next_run_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_skip_due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_skip_reason", sa.Text(), nullable=True),
        sa.Column("consecutive_failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("last_notification_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "deleted_at IS NOT NULL OR num_nonnulls(gateway_id, integrated_llm) = 1",
            name=op.f("ck_agentic_tests_one_target"),
        ),
        sa.CheckConstraint(
            "notification_threshold >= 1", name=op.f("ck_agentic_tests_notification_threshold_positive")
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_agentic_tests_account_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["account_id", "gateway_id"],
            ["ai_gateways.account_id", "ai_gateways.id"],
            name=op.f("fk_agentic_tests_account_id_gateway_id"),
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_agentic_tests")),
    )
    op.create_index(
        "ix_agentic_tests_live",
        "agentic_tests",
        ["account_id", "id"],
        unique=False,
        postgresql_where=sa.text("deleted_at IS NULL"),
    )
    op.create_index("ix_agentic_tests_gateway", "agentic_tests", ["account_id", "gateway_id", "id"])


def downgrade() -> None:
    op.drop_table("agentic_tests")
