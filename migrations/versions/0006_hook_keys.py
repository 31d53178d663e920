"""Hook keys of accounts, and what each run shows to its hooks."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "hook_keys",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("sealed_key", sa.LargeBinary(), nullable=False),
        sa.Column("rolled_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_hook_keys_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_hook_keys")),
    )
    op.create_table(
        "hook_credentials",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id", "run_id"],
            ["runs.account_id", "runs.id"],
            name=op.f("fk_hook_credentials_account_id_run_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("account_id", "run_id", name=op.f("pk_hook_credentials")),
    )


def downgrade() -> None:
    op.drop_table("hook_credentials")
    op.drop_table("hook_keys")
