"""Every table, one file each. Importing this module fills `Table.metadata`."""

from parley.server.db.base import Table
from parley.server.db.tables.accounts import Account
from parley.server.db.tables.agentic_tests import AgenticTest
from parley.server.db.tables.ai_gateways import AiGateway
from parley.server.db.tables.api_keys import ApiKey
from parley.server.db.tables.direct_calls import DirectCall
from parley.server.db.tables.entries import RunEntry
from parley.server.db.tables.hook_credentials import HookCredentials
from parley.server.db.tables.hook_keys import HookKey
from parley.server.db.tables.idempotency_keys import IdempotencyKey
from parley.server.db.tables.ledger import LedgerEntry
from parley.server.db.tables.operator_acts import OperatorAct
from parley.server.db.tables.plans import Plan
from parley.server.db.tables.quota_units import QuotaUnit
from parley.server.db.tables.runs import Run

__all__ = [
    "Account",
    "AgenticTest",
    "AiGateway",
    "ApiKey",
    "DirectCall",
    "HookCredentials",
    "HookKey",
    "IdempotencyKey",
    "LedgerEntry",
    "OperatorAct",
    "Plan",
    "QuotaUnit",
    "Run",
    "RunEntry",
    "Table",
]
