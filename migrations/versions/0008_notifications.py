"""Outbox, channels, notifications, deliveries, and what a test remembers of what it told."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "outbox",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("group_id", sa.Uuid(), nullable=False),
        sa.Column("subject_id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("tries", sa.Integer(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_outbox_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "kind", "group_id", "subject_id", name=op.f("pk_outbox")),
    )
    op.create_index("ix_outbox_due", "outbox", ["kind", "due_at"])
    op.create_table(
        "channels",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("shown_url", sa.Text(), nullable=False),
        sa.Column("sealed_url", sa.LargeBinary(), nullable=False),
        sa.Column("sealed_secret", sa.LargeBinary(), nullable=True),
        sa.Column("enabled", sa.Boolean(), server_default="true", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("format IN ('json', 'slack')", name=op.f("ck_channels_format_known")),
        sa.CheckConstraint(
            "format <> 'json' OR sealed_secret IS NOT NULL", name=op.f("ck_channels_json_is_signed")
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_channels_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_channels")),
    )
    op.create_table(
        "notifications",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("test_id", sa.Uuid(), nullable=True),
        sa.Column("run_id", sa.Uuid(), nullable=True),
        sa.Column("facts", postgresql.JSONB(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "kind IN ('test.failing', 'test.recovered', 'behaviour.lost', 'behaviour.regained', "
            "'channel.test')",
            name=op.f("ck_notifications_kind_known"),
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_notifications_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_notifications")),
    )
    op.create_index(
        "uq_notifications_run",
        "notifications",
        ["account_id", "run_id", "kind"],
        unique=True,
        postgresql_where=sa.text("run_id IS NOT NULL"),
    )
    op.create_index("ix_notifications_created_at", "notifications", ["created_at"])
    op.create_table(
        "deliveries",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("notification_id", sa.Uuid(), nullable=False),
        sa.Column("channel_id", sa.Uuid(), nullable=True),
        sa.Column("email", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), server_default="pending", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column(
            "next_attempt_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("num_nonnulls(channel_id, email) = 1", name=op.f("ck_deliveries_one_reader")),
        sa.CheckConstraint(
            "state IN ('pending', 'delivered', 'failed')", name=op.f("ck_deliveries_state_known")
        ),
        sa.CheckConstraint(
            "(state = 'pending') = (finished_at IS NULL)", name=op.f("ck_deliveries_finished_when_ended")
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_deliveries_account_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["account_id", "notification_id"],
            ["notifications.account_id", "notifications.id"],
            name=op.f("fk_deliveries_account_id_notification_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["account_id", "channel_id"],
            ["channels.account_id", "channels.id"],
            name=op.f("fk_deliveries_account_id_channel_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_deliveries")),
    )
    op.create_index(
        "uq_deliveries_reader",
        "deliveries",
        ["account_id", "notification_id", "channel_id", "email"],
        unique=True,
        postgresql_nulls_not_distinct=True,
    )
    op.create_index("ix_deliveries_channel", "deliveries", ["account_id", "channel_id", "id"])
    op.create_index(
        "ix_deliveries_due",
        "deliveries",
        ["next_attempt_at"],
        postgresql_where=sa.text("state = 'pending'"),
    )
    for column in ("failing_since", "alerted_at", "outcome_alerted_at"):
        op.add_column("agentic_tests", sa.Column(column, sa.DateTime(timezone=True), nullable=True))
    op.add_column("agentic_tests", sa.Column("last_outcome", sa.Text(), nullable=True))


def downgrade() -> None:
    for column in ("last_outcome", "outcome_alerted_at", "alerted_at", "failing_since"):
        op.drop_column("agentic_tests", column)
    op.drop_table("deliveries")
    op.drop_table("notifications")
    op.drop_table("channels")
    op.drop_table("outbox")
