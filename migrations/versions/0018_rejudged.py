"""Results of simulated cases that are judged again, where scorers look for them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "ix_case_results_rejudged",
        "case_results",
        ["account_id", "id"],
        postgresql_where=sa.text(
            "kind = 'simulated' AND regraded_from IS NOT NULL AND status IN ('pending', 'scoring')"
        ),
    )


def downgrade() -> None:
    op.drop_index("ix_case_results_rejudged", table_name="case_results")
