"""Scripted suites in your own process: with or without the service, sync or async.

    from parley.sdk.evals import Evals, function_agent

    evals = Evals(agent=function_agent(answer), suites=["suites/refunds.yaml"])
    record = evals.run_sync()

Nothing is loaded before it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parley.engine.script.faults import SafeFailure, SuiteInvalid
    from parley.engine.script.observation import AgentEvent, Interrupt, Observation, Structured, Usage
    from parley.engine.script.ports import Execution, Limits
    from parley.engine.script.progress import Progress
    from parley.engine.script.protocol import Capacity
    from parley.engine.script.record import AttemptRecord, JudgeIdentity, RunRecord, Verification
    from parley.engine.script.shapes import Evidence, Suite
    from parley.engine.script.work import Stopping
    from parley.sdk.evals.agents import Turn, function_agent
    from parley.sdk.evals.chat_agent import chat_agent
    from parley.sdk.evals.errors import EvalsMisconfigured
    from parley.sdk.evals.evals import Evals
    from parley.sdk.evals.handlers import Responder
    from parley.sdk.evals.identity import Identity, current_attempt
    from parley.sdk.evals.later import grade_run
    from parley.sdk.evals.llm_judge import LlmJudge
    from parley.sdk.evals.pause import Pause
    from parley.sdk.evals.pytest_cases import case_tests
    from parley.sdk.evals.recorded_tools import recorded_tool
    from parley.sdk.evals.recorder import record
    from parley.sdk.evals.remote.app import RemoteApp
    from parley.sdk.evals.remote.host import HostTimes
    from parley.sdk.evals.remote.memory import MemoryStore
    from parley.sdk.evals.remote.postgres import PostgresStore
    from parley.sdk.evals.run_context import RunContext
    from parley.sdk.evals.service_judge import ServiceJudge
    from parley.sdk.evals.suites import parse_suite
    from parley.sdk.evals.upload import UploadedRun, upload_run

_HOMES = {
    "AgentEvent": "engine.script.observation",
    "AttemptRecord": "engine.script.record",
    "Capacity": "engine.script.protocol",
    "Evals": "sdk.evals.evals",
    "EvalsMisconfigured": "sdk.evals.errors",
    "Evidence": "engine.script.shapes",
    "Execution": "engine.script.ports",
    "HostTimes": "sdk.evals.remote.host",
    "Identity": "sdk.evals.identity",
    "Interrupt": "engine.script.observation",
    "JudgeIdentity": "engine.script.record",
    "Limits": "engine.script.ports",
    "LlmJudge": "sdk.evals.llm_judge",
    "MemoryStore": "sdk.evals.remote.memory",
    "Observation": "engine.script.observation",
    "Pause": "sdk.evals.pause",
    "PostgresStore": "sdk.evals.remote.postgres",
    "Progress": "engine.script.progress",
    "RemoteApp": "sdk.evals.remote.app",
    "Responder": "sdk.evals.handlers",
    "RunContext": "sdk.evals.run_context",
    "RunRecord": "engine.script.record",
    "SafeFailure": "engine.script.faults",
    "ServiceJudge": "sdk.evals.service_judge",
    "Stopping": "engine.script.work",
    "Structured": "engine.script.observation",
    "Suite": "engine.script.shapes",
    "SuiteInvalid": "engine.script.faults",
    "Turn": "sdk.evals.agents",
    "UploadedRun": "sdk.evals.upload",
    "Usage": "engine.script.observation",
    "Verification": "engine.script.record",
    "case_tests": "sdk.evals.pytest_cases",
    "chat_agent": "sdk.evals.chat_agent",
    "current_attempt": "sdk.evals.identity",
    "function_agent": "sdk.evals.agents",
    "grade_run": "sdk.evals.later",
    "parse_suite": "sdk.evals.suites",
    "record": "sdk.evals.recorder",
    "recorded_tool": "sdk.evals.recorded_tools",
    "upload_run": "sdk.evals.upload",
}
"""Where each public name lives."""

__all__ = [
    "AgentEvent",
    "AttemptRecord",
    "Capacity",
    "Evals",
    "EvalsMisconfigured",
    "Evidence",
    "Execution",
    "HostTimes",
    "Identity",
    "Interrupt",
    "JudgeIdentity",
    "Limits",
    "LlmJudge",
    "MemoryStore",
    "Observation",
    "Pause",
    "PostgresStore",
    "Progress",
    "RemoteApp",
    "Responder",
    "RunContext",
    "RunRecord",
    "SafeFailure",
    "ServiceJudge",
    "Stopping",
    "Structured",
    "Suite",
    "SuiteInvalid",
    "Turn",
    "UploadedRun",
    "Usage",
    "Verification",
    "case_tests",
    "chat_agent",
    "current_attempt",
    "function_agent",
    "grade_run",
    "parse_suite",
    "record",
    "recorded_tool",
    "upload_run",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"parley.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
