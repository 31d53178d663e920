"""Indexes for a test's runs by state, and, where there are trigrams, for parts of tests' names."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_STATES = {
    "open": "state IN ('pending', 'running')",
    "succeeded": "state = 'succeeded'",
    "failed": "state = 'failed'",
    "cancelled": "state = 'cancelled'",
}

# The extension may be missing, forbidden by whatever rules the host has, or in a schema that is not searched.
_TRIGRAMS = """
DO $$
DECLARE
    home text;
BEGIN
    BEGIN
        CREATE EXTENSION IF NOT EXISTS pg_trgm;
    EXCEPTION WHEN others THEN
        RAISE NOTICE 'no pg_trgm (%): searches read all names of an account', SQLERRM;
    END;
    SELECT quote_ident(nspname) INTO home
      FROM pg_opclass JOIN pg_namespace ON pg_namespace.oid = opcnamespace
     WHERE opcname = 'gin_trgm_ops';
    IF home IS NOT NULL THEN
        EXECUTE format('CREATE INDEX ix_agentic_tests_name ON agentic_tests '
                       'USING gin (name %s.gin_trgm_ops) WHERE deleted_at IS NULL', home);
    END IF;
END
$$
"""


def upgrade() -> None:
    for name, states in _STATES.items():
        op.create_index(
            f"ix_runs_test_{name}",
            "runs",
            ["account_id", "test_id", "id"],
            postgresql_where=sa.text(states),
        )
    op.execute(_TRIGRAMS)


def downgrade() -> None:
    # The extension stays: it may have been there before, and something else may use it.
    op.execute("DROP INDEX IF EXISTS ix_agentic_tests_name")
    for name in _STATES:
        op.drop_index(f"ix_runs_test_{name}", table_name="runs")
