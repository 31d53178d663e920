"""Grades: what apps asked the service's judge, kept until it cannot be asked again; their ledger lines."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0020"
down_revision = "0018"
branch_labels = None
depends_on = None

_SOURCES = "'run', 'direct', 'evaluation', 'credit', 'adjustment'"


def _know(sources: str) -> None:
    """Let ledger lines be of these sources alone."""
    op.drop_constraint(op.f("ck_ledger_source_known"), "ledger", type_="check")
    op.create_check_constraint(op.f("ck_ledger_source_known"), "ledger", f"source IN ({sources})")


def upgrade() -> None:
    op.create_table(
        "grades",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("key_id", sa.Uuid(), nullable=False),
        sa.Column("judge", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default="running", nullable=False),
        sa.Column("answer", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("cost", sa.Numeric(precision=20, scale=9), server_default="0", nullable=False),
        sa.Column("lease_token", sa.Uuid(), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "(answer IS NOT NULL) = (state = 'answered')", name=op.f("ck_grades_answer_when_answered")
        ),
        sa.CheckConstraint(
            "(lease_token IS NOT NULL) = (state = 'running')", name=op.f("ck_grades_leased_when_running")
        ),
        sa.CheckConstraint("state IN ('running', 'answered', 'failed')", name=op.f("ck_grades_state_known")),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_grades_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_grades")),
    )
    op.create_index("ix_grades_key", "grades", ["account_id", "key_id", "asked_at"], unique=False)
    op.create_index("ix_grades_age", "grades", ["created_at"], unique=False)
    _know(f"{_SOURCES}, 'grade'")


def downgrade() -> None:
    op.execute("DELETE FROM ledger WHERE source = 'grade'")
    _know(_SOURCES)
    op.drop_index("ix_grades_age", table_name="grades")
    op.drop_index("ix_grades_key", table_name="grades")
    op.drop_table("grades")
