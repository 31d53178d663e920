"""Sessions of browsers and the links that open them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_TABLES = ("browser_sessions", "sign_in_links")


def upgrade() -> None:
    for table in _TABLES:
        op.create_table(
            table,
            sa.Column("account_id", sa.Uuid(), nullable=False),
            sa.Column("id", sa.Uuid(), nullable=False),
            sa.Column("key_id", sa.Uuid(), nullable=False),
            sa.Column("sha256", sa.LargeBinary(), nullable=False),
            sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
            sa.Column(
                "created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
            ),
            sa.Column(
                "updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
            ),
            sa.CheckConstraint("octet_length(sha256) = 32", name=op.f(f"ck_{table}_sha256_length")),
            sa.ForeignKeyConstraint(
                ["account_id"], ["accounts.id"], name=op.f(f"fk_{table}_account_id"), ondelete="CASCADE"
            ),
            sa.ForeignKeyConstraint(
                ["account_id", "key_id"],
                ["api_keys.account_id", "api_keys.id"],
                name=op.f(f"fk_{table}_account_id_key_id"),
                ondelete="CASCADE",
            ),
            sa.PrimaryKeyConstraint("account_id", "id", name=op.f(f"pk_{table}")),
            sa.UniqueConstraint("sha256", name=op.f(f"uq_{table}_sha256")),
        )
        op.create_index(f"ix_{table}_key", table, ["account_id", "key_id"])


def downgrade() -> None:
    for table in reversed(_TABLES):
        op.drop_table(table)
