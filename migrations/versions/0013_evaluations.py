"""Datasets, suites, evaluations with their cases and results, gates, pins; the alert of a red gate."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_KINDS = "'test.failing', 'test.recovered', 'behaviour.lost', 'behaviour.regained'"


def _know(kinds: str) -> None:
    """Let notifications be of these kinds alone."""
    op.drop_constraint(op.f("ck_notifications_kind_known"), "notifications", type_="check")
    op.create_check_constraint(op.f("ck_notifications_kind_known"), "notifications", f"kind IN ({kinds})")


def upgrade() -> None:
    op.create_table(
        "datasets",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("case_count", sa.Integer(), server_default="0", nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_datasets_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_datasets")),
    )
    op.create_index(
        "ix_datasets_live",
        "datasets",
        ["account_id", "id"],
        unique=False,
        postgresql_where=sa.text("deleted_at IS NULL"),
    )
    op.create_table(
        "evaluation_settings",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("content", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["accounts.id"],
            name=op.f("fk_evaluation_settings_account_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_evaluation_settings")),
    )
    op.create_table(
        "suites",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("content", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_suites_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_suites")),
    )
    op.create_index(
        "ix_suites_live",
        "suites",
        ["account_id", "id"],
        unique=False,
        postgresql_where=sa.text("deleted_at IS NULL"),
    )
    op.create_table(
        "dataset_versions",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("dataset_id", sa.Uuid(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("content", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id", "dataset_id"],
            ["datasets.account_id", "datasets.id"],
            name=op.f("fk_dataset_versions_account_id_dataset_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_dataset_versions_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_dataset_versions")),
        sa.UniqueConstraint(
            "account_id",
            "dataset_id",
            "version",
            name=op.f("uq_dataset_versions_account_id_dataset_id_version"),
        ),
    )
    op.create_table(
        "evaluations",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("dataset_id", sa.Uuid(), nullable=True),
        sa.Column("suite_id", sa.Uuid(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), server_default="in_progress", nullable=False),
        sa.Column("split", sa.Text(), nullable=True),
        sa.Column("repetitions", sa.Integer(), server_default="1", nullable=False),
        sa.Column("case_count", sa.Integer(), nullable=False),
        sa.Column("run_source", sa.Text(), nullable=True),
        sa.Column("commit", sa.Text(), nullable=True),
        sa.Column("branch", sa.Text(), nullable=True),
        sa.Column("pull_request", sa.Text(), nullable=True),
        sa.Column("settings_id", sa.Uuid(), nullable=True),
        sa.Column("grading", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("grading_hash", sa.Text(), nullable=False),
        sa.Column("pass_rating", sa.Numeric(precision=20, scale=9), nullable=True),
        sa.Column("options", postgresql.JSONB(astext_type=sa.Text()), server_default="{}", nullable=False),
        sa.Column("baseline_id", sa.Uuid(), nullable=True),
        sa.Column("regrade_of", sa.Uuid(), nullable=True),
        sa.Column("rated_count", sa.Integer(), nullable=True),
        sa.Column("cost", sa.Numeric(precision=20, scale=9), server_default="0", nullable=False),
        sa.Column("statistics", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("error", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "(completed_at IS NOT NULL) = (state = 'completed')",
            name=op.f("ck_evaluations_completed_when_completed"),
        ),
        sa.CheckConstraint(
            "(ended_at IS NULL) = (state IN ('in_progress', 'scoring'))",
            name=op.f("ck_evaluations_ended_when_closed"),
        ),
        sa.CheckConstraint(
            "state IN ('in_progress', 'scoring', 'completed', 'failed', 'expired', 'cancelled')",
            name=op.f("ck_evaluations_state_known"),
        ),
        sa.CheckConstraint("num_nonnulls(dataset_id, suite_id) = 1", name=op.f("ck_evaluations_one_subject")),
        sa.ForeignKeyConstraint(
            ["account_id", "dataset_id"],
            ["datasets.account_id", "datasets.id"],
            name=op.f("fk_evaluations_account_id_dataset_id"),
        ),
        sa.ForeignKeyConstraint(
            ["account_id", "regrade_of"],
            ["evaluations.account_id", "evaluations.id"],
            name=op.f("fk_evaluations_account_id_regrade_of"),
        ),
        sa.ForeignKeyConstraint(
            ["account_id", "settings_id"],
            ["evaluation_settings.account_id", "evaluation_settings.id"],
            name=op.f("fk_evaluations_account_id_settings_id"),
        ),
        sa.ForeignKeyConstraint(
            ["account_id", "suite_id"],
            ["suites.account_id", "suites.id"],
            name=op.f("fk_evaluations_account_id_suite_id"),
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_evaluations_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_evaluations")),
    )
    op.create_index("ix_evaluations_dataset", "evaluations", ["account_id", "dataset_id", "id"], unique=False)
    op.create_index(
        "ix_evaluations_line",
        "evaluations",
        ["account_id", "grading_hash", "completed_at", "id"],
        unique=False,
        postgresql_where=sa.text("state = 'completed'"),
    )
    op.create_index(
        "ix_evaluations_open",
        "evaluations",
        ["expires_at"],
        unique=False,
        postgresql_where=sa.text("state IN ('in_progress', 'scoring')"),
    )
    op.create_index("ix_evaluations_suite", "evaluations", ["account_id", "suite_id", "id"], unique=False)
    op.create_table(
        "evaluation_cases",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("evaluation_id", sa.Uuid(), nullable=False),
        sa.Column("case_id", sa.Text(), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("content", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("grader_hash", sa.Text(), nullable=True),
        sa.Column("target_hash", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id", "evaluation_id"],
            ["evaluations.account_id", "evaluations.id"],
            name=op.f("fk_evaluation_cases_account_id_evaluation_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_evaluation_cases_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_evaluation_cases")),
        sa.UniqueConstraint(
            "account_id",
            "evaluation_id",
            "case_id",
            name=op.f("uq_evaluation_cases_account_id_evaluation_id_case_id"),
        ),
    )
    op.create_table(
        "evaluation_pins",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("dataset_id", sa.Uuid(), nullable=True),
        sa.Column("suite_id", sa.Uuid(), nullable=True),
        sa.Column("grading_hash", sa.Text(), nullable=False),
        sa.Column("split", sa.Text(), nullable=True),
        sa.Column("evaluation_id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "num_nonnulls(dataset_id, suite_id) = 1", name=op.f("ck_evaluation_pins_one_subject")
        ),
        sa.ForeignKeyConstraint(
            ["account_id", "evaluation_id"],
            ["evaluations.account_id", "evaluations.id"],
            name=op.f("fk_evaluation_pins_account_id_evaluation_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_evaluation_pins_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_evaluation_pins")),
        sa.UniqueConstraint(
            "account_id",
            "dataset_id",
            "suite_id",
            "grading_hash",
            "split",
            name="uq_evaluation_pins_line",
            postgresql_nulls_not_distinct=True,
        ),
    )
    op.create_table(
        "gate_records",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("evaluation_id", sa.Uuid(), nullable=False),
        sa.Column("dataset_id", sa.Uuid(), nullable=True),
        sa.Column("suite_id", sa.Uuid(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("branch", sa.Text(), nullable=True),
        sa.Column("commit", sa.Text(), nullable=True),
        sa.Column("caller", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("parameters", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("answer", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "verdict IN ('passed', 'failed', 'inconclusive')", name=op.f("ck_gate_records_verdict_known")
        ),
        sa.ForeignKeyConstraint(
            ["account_id", "evaluation_id"],
            ["evaluations.account_id", "evaluations.id"],
            name=op.f("fk_gate_records_account_id_evaluation_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_gate_records_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_gate_records")),
        sa.UniqueConstraint(
            "account_id",
            "evaluation_id",
            "verdict",
            "caller",
            name=op.f("uq_gate_records_account_id_evaluation_id_verdict_caller"),
        ),
    )
    op.create_index(
        "ix_gate_records_dataset", "gate_records", ["account_id", "dataset_id", "id"], unique=False
    )
    op.create_index("ix_gate_records_suite", "gate_records", ["account_id", "suite_id", "id"], unique=False)
    op.create_table(
        "case_results",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("evaluation_id", sa.Uuid(), nullable=False),
        sa.Column("case_id", sa.Text(), nullable=False),
        sa.Column("repetition", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), server_default="pending", nullable=False),
        sa.Column("rating", sa.Numeric(precision=20, scale=9), nullable=True),
        sa.Column("passed", sa.Boolean(), nullable=True),
        sa.Column("justification", sa.Text(), nullable=True),
        sa.Column("checks", postgresql.JSONB(astext_type=sa.Text()), server_default="[]", nullable=False),
        sa.Column("cost", sa.Numeric(precision=20, scale=9), server_default="0", nullable=False),
        sa.Column("duration_ms", sa.BigInteger(), nullable=True),
        sa.Column("error", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("run_id", sa.Uuid(), nullable=True),
        sa.Column("transcript", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("judgement", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("idempotency_key", sa.Text(), nullable=True),
        sa.Column("batch_id", sa.Text(), nullable=True),
        sa.Column("regraded_from", sa.Uuid(), nullable=True),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("lease_token", sa.Uuid(), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("scored_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(lease_token IS NOT NULL) = (status = 'scoring')",
            name=op.f("ck_case_results_leased_when_scoring"),
        ),
        sa.CheckConstraint(
            "(scored_at IS NULL) = (status IN ('pending', 'scoring'))",
            name=op.f("ck_case_results_scored_when_ended"),
        ),
        sa.CheckConstraint(
            "status <> 'failed' OR (num_nonnulls(rating, passed) = 2 AND rating = 0 AND NOT passed)",
            name=op.f("ck_case_results_failed_is_zero"),
        ),
        sa.CheckConstraint(
            "status <> 'rated' OR rating IS NOT NULL", name=op.f("ck_case_results_rated_has_rating")
        ),
        sa.CheckConstraint(
            "status <> 'skipped' OR num_nonnulls(rating, passed) = 0",
            name=op.f("ck_case_results_skipped_is_null"),
        ),
        sa.CheckConstraint(
            "status IN ('pending', 'scoring', 'rated', 'failed', 'skipped')",
            name=op.f("ck_case_results_status_known"),
        ),
        sa.CheckConstraint(
            "rating IS NULL OR (rating >= 0 AND rating <= 10)", name=op.f("ck_case_results_rating_in_bounds")
        ),
        sa.ForeignKeyConstraint(
            ["account_id", "evaluation_id", "case_id"],
            ["evaluation_cases.account_id", "evaluation_cases.evaluation_id", "evaluation_cases.case_id"],
            name=op.f("fk_case_results_account_id_evaluation_id_case_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["account_id", "evaluation_id"],
            ["evaluations.account_id", "evaluations.id"],
            name=op.f("fk_case_results_account_id_evaluation_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_case_results_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_case_results")),
        sa.UniqueConstraint(
            "account_id",
            "evaluation_id",
            "case_id",
            "repetition",
            name=op.f("uq_case_results_account_id_evaluation_id_case_id_repetition"),
        ),
    )
    op.create_index(
        "ix_case_results_run",
        "case_results",
        ["account_id", "run_id"],
        unique=False,
        postgresql_where=sa.text("run_id IS NOT NULL"),
    )
    op.create_index(
        "ix_case_results_waiting",
        "case_results",
        ["account_id", "id"],
        unique=False,
        postgresql_where=sa.text("kind = 'custom' AND status IN ('pending', 'scoring')"),
    )
    op.create_index(
        "uq_case_results_key",
        "case_results",
        ["account_id", "evaluation_id", "idempotency_key"],
        unique=True,
        postgresql_where=sa.text("idempotency_key IS NOT NULL"),
    )
    _know(f"{_KINDS}, 'gate.failed', 'channel.test'")


def downgrade() -> None:
    op.execute("DELETE FROM notifications WHERE kind = 'gate.failed'")
    _know(f"{_KINDS}, 'channel.test'")
    op.drop_table("case_results")
    op.drop_table("gate_records")
    op.drop_table("evaluation_pins")
    op.drop_table("evaluation_cases")
    op.drop_table("evaluations")
    op.drop_table("dataset_versions")
    op.drop_table("suites")
    op.drop_table("evaluation_settings")
    op.drop_table("datasets")
