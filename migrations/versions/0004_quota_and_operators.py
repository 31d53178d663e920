"""Limits of plans, units of quota, alerts contact, operators' acts; indexes of slots and integrated usage."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_INTEGRATED = {"free": (200, 1_000_000), "pro": (5_000, 25_000_000)}


def upgrade() -> None:
    _limits_of_plans()
    op.create_table(
        "quota_units",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("spent_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_quota_units_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_quota_units")),
    )
    op.create_index("ix_quota_units_window", "quota_units", ["account_id", "spent_at"])
    op.create_table(
        "operator_acts",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("act", sa.Text(), nullable=False),
        sa.Column("via", sa.Text(), nullable=False),
        sa.Column("account_id", sa.Uuid(), nullable=True),
        sa.Column("details", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("via IN ('api', 'command')", name=op.f("ck_operator_acts_via_known")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_operator_acts")),
    )
    op.create_index("ix_operator_acts_account", "operator_acts", ["account_id", "id"])
    op.add_column("accounts", sa.Column("alerts_contact", sa.Text(), nullable=True))
    op.create_index(
        "ix_runs_waiting",
        "runs",
        ["account_id", "id"],
        postgresql_where=sa.text("state = 'pending' AND admitted_at IS NULL"),
    )
    op.create_index(
        "ix_runs_slots",
        "runs",
        ["account_id", "id"],
        postgresql_where=sa.text("state IN ('pending', 'running') AND admitted_at IS NOT NULL"),
    )
    op.create_index(
        "ix_ledger_integrated",
        "ledger",
        ["account_id", "created_at"],
        postgresql_include=["prompt_tokens", "completion_tokens"],
        postgresql_where=sa.text("role = 'assistant' AND llm LIKE '@%'"),
    )


def _limits_of_plans() -> None:
    op.add_column("plans", sa.Column("resources_per_test", sa.Integer(), server_default="16", nullable=False))
    op.add_column("plans", sa.Column("integrated_requests_per_day", sa.Integer(), nullable=True))
    op.add_column("plans", sa.Column("integrated_tokens_per_day", sa.BigInteger(), nullable=True))
    for limit in ("resources_per_test", "integrated_requests_per_day", "integrated_tokens_per_day"):
        op.create_check_constraint(op.f(f"ck_plans_{limit}_not_negative"), "plans", f"{limit} >= 0")
    plans = sa.table(
        "plans",
        sa.column("code"),
        sa.column("integrated_requests_per_day"),
        sa.column("integrated_tokens_per_day"),
    )
    for code, (requests, tokens) in _INTEGRATED.items():
        op.execute(
            plans.update()
            .where(plans.c.code == code)
            .values(integrated_requests_per_day=requests, integrated_tokens_per_day=tokens)
        )


def downgrade() -> None:
    op.drop_index("ix_ledger_integrated", table_name="ledger")
    op.drop_index("ix_runs_slots", table_name="runs")
    op.drop_index("ix_runs_waiting", table_name="runs")
    op.drop_column("accounts", "alerts_contact")
    op.drop_table("operator_acts")
    op.drop_table("quota_units")
    for limit in ("integrated_tokens_per_day", "integrated_requests_per_day", "resources_per_test"):
        op.drop_column("plans", limit)
