"""Script plans know the run that was played elsewhere and sent in, so that it is kept once."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("script_plans", sa.Column("run_id", sa.Text(), nullable=True))
    op.add_column("script_plans", sa.Column("run_sha256", sa.LargeBinary(), nullable=True))
    op.create_unique_constraint(
        op.f("uq_script_plans_account_id_run_id"), "script_plans", ["account_id", "run_id"]
    )


def downgrade() -> None:
    op.drop_constraint(op.f("uq_script_plans_account_id_run_id"), "script_plans", type_="unique")
    op.drop_column("script_plans", "run_sha256")
    op.drop_column("script_plans", "run_id")
