"""Attempts at scripted cases, and what they are played by."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "script_plans",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("evaluation_id", sa.Uuid(), nullable=False),
        sa.Column("suite", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("revision", sa.Text(), nullable=False),
        sa.Column("evidence", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("target", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("judge", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id", "evaluation_id"],
            ["evaluations.account_id", "evaluations.id"],
            name=op.f("fk_script_plans_account_id_evaluation_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_script_plans_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_script_plans")),
        sa.UniqueConstraint(
            "account_id", "evaluation_id", name=op.f("uq_script_plans_account_id_evaluation_id")
        ),
    )
    op.create_table(
        "attempts",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("evaluation_id", sa.Uuid(), nullable=False),
        sa.Column("result_id", sa.Uuid(), nullable=False),
        sa.Column("case_id", sa.Text(), nullable=False),
        sa.Column("repetition", sa.Integer(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("lock", sa.Text(), nullable=True),
        sa.Column("replay_safe", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("state", sa.Text(), server_default="queued", nullable=False),
        sa.Column("contact", sa.Text(), nullable=True),
        sa.Column("cursor", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("takes", sa.Integer(), server_default="0", nullable=False),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("lease_token", sa.Uuid(), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("cancel_requested_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("status", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("record", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("duration_ms", sa.BigInteger(), nullable=True),
        sa.Column("workflow_cost", sa.Numeric(precision=20, scale=9), nullable=True),
        sa.Column("judge_cost", sa.Numeric(precision=20, scale=9), nullable=True),
        sa.Column("charged", sa.Numeric(precision=20, scale=9), server_default="0", nullable=False),
        sa.Column("last_charge", sa.Integer(), server_default="0", nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "(state = 'finished') = (status IS NOT NULL)", name=op.f("ck_attempts_status_when_finished")
        ),
        sa.CheckConstraint(
            "lease_token IS NULL OR state = 'running'", name=op.f("ck_attempts_leased_when_running")
        ),
        sa.CheckConstraint(
            "state <> 'finished' OR record IS NOT NULL", name=op.f("ck_attempts_record_when_finished")
        ),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'finished')", name=op.f("ck_attempts_state_known")
        ),
        sa.CheckConstraint(
            "status IN ('error', 'cancelled', 'failed', 'inconclusive', 'ungraded', 'passed')",
            name=op.f("ck_attempts_status_known"),
        ),
        sa.CheckConstraint("target IN ('gateway', 'app', 'process')", name=op.f("ck_attempts_target_known")),
        sa.ForeignKeyConstraint(
            ["account_id", "evaluation_id"],
            ["evaluations.account_id", "evaluations.id"],
            name=op.f("fk_attempts_account_id_evaluation_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["account_id", "result_id"],
            ["case_results.account_id", "case_results.id"],
            name=op.f("fk_attempts_account_id_result_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_attempts_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_attempts")),
        sa.UniqueConstraint(
            "account_id",
            "evaluation_id",
            "case_id",
            "repetition",
            name=op.f("uq_attempts_account_id_evaluation_id_case_id_repetition"),
        ),
    )
    op.create_index(
        "ix_attempts_open",
        "attempts",
        ["account_id", "id"],
        unique=False,
        postgresql_where=sa.text("state IN ('queued', 'running')"),
    )
    op.create_index("ix_attempts_result", "attempts", ["account_id", "result_id"], unique=False)
    op.add_column("evaluation_cases", sa.Column("repetitions", sa.Integer(), nullable=True))
    op.add_column("evaluations", sa.Column("expected_count", sa.Integer(), nullable=True))


def downgrade() -> None:
    op.drop_column("evaluations", "expected_count")
    op.drop_column("evaluation_cases", "repetitions")
    op.drop_index("ix_attempts_result", table_name="attempts")
    op.drop_index(
        "ix_attempts_open", table_name="attempts", postgresql_where=sa.text("state IN ('queued', 'running')")
    )
    op.drop_table("attempts")
    op.drop_table("script_plans")
