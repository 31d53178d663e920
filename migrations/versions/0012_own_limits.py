"""Limits of single accounts, in place of their plans'."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_COLUMNS = ("own_runs_per_minute", "own_concurrent_runs")


def upgrade() -> None:
    for column in _COLUMNS:
        op.add_column("accounts", sa.Column(column, sa.Integer(), nullable=True))
        op.create_check_constraint(op.f(f"ck_accounts_{column}_positive"), "accounts", f"{column} > 0")


def downgrade() -> None:
    for column in _COLUMNS:
        op.drop_constraint(op.f(f"ck_accounts_{column}_positive"), "accounts", type_="check")
        op.drop_column("accounts", column)
