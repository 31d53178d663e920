"""Every room's endpoints, in the order the documentation shows them. A new room adds its line here."""

from __future__ import annotations

import re

from fastapi import APIRouter

from parley.server.accounts.endpoints import router as accounts
from parley.server.agentic_tests.compare_endpoints import router as comparison
from parley.server.agentic_tests.endpoints import router as agentic_tests
from parley.server.agentic_tests.file_endpoints import router as test_files
from parley.server.agentic_tests.overview_endpoints import router as overview
from parley.server.agentic_tests.run_endpoints import router as runs_of_tests
from parley.server.apps.endpoints import router as apps
from parley.server.attempts.endpoints import router as attempts
from parley.server.billing.endpoints import router as billing
from parley.server.custom_evaluations.endpoints import PLANE
from parley.server.custom_evaluations.endpoints import router as datasets
from parley.server.custom_evaluations.run_endpoints import router as runs_of_datasets
from parley.server.direct.endpoints import router as direct
from parley.server.evaluations.endpoints import router as evaluations
from parley.server.evaluations.gate_endpoints import router as gates
from parley.server.gateways.endpoints import router as gateways
from parley.server.hooks.endpoints import router as hook_key
from parley.server.notifications.endpoints import router as channels
from parley.server.quotas.endpoints import router as quotas
from parley.server.runs.endpoints import router as runs
from parley.server.runs.export import router as export_schema
from parley.server.script_judge.endpoints import router as script_judge
from parley.server.suites.endpoints import router as suites
from parley.server.suites.upload_endpoints import router as uploads
from parley.server.web.endpoints import router as session

ROUTERS: tuple[APIRouter, ...] = (
    gateways,
    apps,
    test_files,
    agentic_tests,
    runs_of_tests,
    runs,
    comparison,
    overview,
    export_schema,
    direct,
    suites,
    script_judge,
    uploads,
    evaluations,
    attempts,
    gates,
    datasets,
    runs_of_datasets,
    accounts,
    billing,
    quotas,
    hook_key,
    channels,
    session,
)

LARGE_BODIES: tuple[re.Pattern[str], ...] = (
    re.compile(rf"/api/v1{PLANE}/runs/[^/]+/results"),
    re.compile(rf"/api/v1{PLANE}/datasets(/[^/]+)?"),
    re.compile(r"/api/v1/suites(/[^/]+)?"),
    re.compile(r"/api/v1/evals/(grades|runs)"),
)
"""Whole paths that take results or suites, up to `PARLEY_API_LARGE_BODY_MAX_BYTES`."""
