"""Where Alembic starts: one migrator at a time over all replicas, with short waits for locks."""

from __future__ import annotations

from alembic import context

from parley.server.config import DatabaseSettings
from parley.server.db.migrate import run_in_context

run_in_context(context, DatabaseSettings().url.get_secret_value())
