"""Rows of direct evaluations."""

from __future__ import annotations

from parley.server.db.repository import Repository
from parley.server.db.tables.direct_calls import DirectCall


class DirectCallRepository(Repository[DirectCall]):
    """The direct evaluations in scope."""

    table = DirectCall
