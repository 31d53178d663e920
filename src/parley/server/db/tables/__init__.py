"""Every table, one file each. Importing this module fills `Table.metadata`."""

from parley.server.db.base import Table
from parley.server.db.tables.accounts import Account
from parley.server.db.tables.agentic_tests import AgenticTest
from parley.server.db.tables.ai_gateways import AiGateway
from parley.server.db.tables.api_keys import ApiKey
from parley.server.db.tables.attempts import Attempt
from parley.server.db.tables.browser_sessions import BrowserSession, SignInLink
from parley.server.db.tables.case_results import CaseResult
from parley.server.db.tables.channels import Channel
from parley.server.db.tables.datasets import Dataset, DatasetVersion
from parley.server.db.tables.deliveries import Delivery
from parley.server.db.tables.direct_calls import DirectCall
from parley.server.db.tables.entries import RunEntry
from parley.server.db.tables.evaluation_settings import EvaluationSettings
from parley.server.db.tables.evaluations import Evaluation, EvaluationCase
from parley.server.db.tables.gate_records import EvaluationPin, GateRecord
from parley.server.db.tables.grades import Grade
from parley.server.db.tables.hook_credentials import HookCredentials
from parley.server.db.tables.hook_keys import HookKey
from parley.server.db.tables.idempotency_keys import IdempotencyKey
from parley.server.db.tables.ledger import LedgerEntry
from parley.server.db.tables.notifications import Notification
from parley.server.db.tables.operator_acts import OperatorAct
from parley.server.db.tables.outbox import OutboxRow
from parley.server.db.tables.plans import Plan
from parley.server.db.tables.quota_units import QuotaUnit
from parley.server.db.tables.remote_apps import RemoteAdmission, RemoteApp
from parley.server.db.tables.retention_overrides import RetentionOverride
from parley.server.db.tables.runs import Run
from parley.server.db.tables.script_plans import ScriptPlan
from parley.server.db.tables.suite_progress import SuiteProgress
from parley.server.db.tables.suites import Suite

__all__ = [
    "Account",
    "AgenticTest",
    "AiGateway",
    "ApiKey",
    "Attempt",
    "BrowserSession",
    "CaseResult",
    "Channel",
    "Dataset",
    "DatasetVersion",
    "Delivery",
    "DirectCall",
    "Evaluation",
    "EvaluationCase",
    "EvaluationPin",
    "EvaluationSettings",
    "GateRecord",
    "Grade",
    "HookCredentials",
    "HookKey",
    "IdempotencyKey",
    "LedgerEntry",
    "Notification",
    "OperatorAct",
    "OutboxRow",
    "Plan",
    "QuotaUnit",
    "RemoteAdmission",
    "RemoteApp",
    "RetentionOverride",
    "Run",
    "RunEntry",
    "ScriptPlan",
    "SignInLink",
    "Suite",
    "SuiteProgress",
    "Table",
]
