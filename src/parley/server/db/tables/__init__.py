"""Every table, one file each. Importing this module fills `Table.metadata`."""

from parley.server.db.base import Table
from parley.server.db.tables.accounts import Account
from parley.server.db.tables.agentic_tests import AgenticTest
from parley.server.db.tables.ai_gateways import AiGateway
from parley.server.db.tables.api_keys import ApiKey
from parley.server.db.tables.idempotency_keys import IdempotencyKey
from parley.server.db.tables.plans import Plan

__all__ = ["Account", "AgenticTest", "AiGateway", "ApiKey", "IdempotencyKey", "Plan", "Table"]
