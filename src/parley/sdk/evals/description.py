"""What an app offers, as data: the manifest without what its route adds. Runs nothing. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from parley.engine.script.record import JudgeIdentity
from parley.engine.script.revision import effective_evidence, suite_revision
from parley.engine.script.shapes import Evidence, Suite
from parley.sdk.evals.errors import EvalsMisconfigured
from parley.sdk.evals.handlers import Handlers, Responder

DESCRIPTION_VERSION: Final = 1


def described(suites: Sequence[Suite], defaults: Evidence, handlers: Handlers, judge: Any) -> dict[str, Any]:
    """Suites with their revisions, handlers by name, the schema of params, the judge where it is known."""
    identity = None if judge is None else _known_identity(judge)
    told: dict[str, Any] = {
        "schemaVersion": DESCRIPTION_VERSION,
        "suites": [_suite(suite, defaults) for suite in suites],
        "handlers": _handlers(handlers),
    }
    if handlers.params_model is not None:
        told["paramsSchema"] = handlers.params_model.model_json_schema()
    if identity is not None:
        told["judge"] = identity.wire()
    return told


def _suite(suite: Suite, defaults: Evidence) -> dict[str, Any]:
    return {
        "suite": suite.wire(),
        "revision": suite_revision(suite, defaults),
        "evidence": effective_evidence(suite, defaults).wire(),
    }


def _handlers(handlers: Handlers) -> dict[str, Any]:
    return {
        "setup": handlers.setup is not None,
        "verify": handlers.verify is not None,
        "teardown": handlers.teardown is not None,
        "responders": [_responder(name, one) for name, one in handlers.responders.items()],
        "references": list(handlers.references),
        "filters": list(handlers.filters),
    }


def _responder(name: str, responder: Responder) -> dict[str, Any]:
    schema = {"schemaId": responder.schema_id, "schemaVersion": responder.schema_version}
    return {"name": name, **{key: value for key, value in schema.items() if value is not None}}


def _known_identity(judge: Any) -> JudgeIdentity | None:
    try:
        identity: JudgeIdentity = judge.identity
    except EvalsMisconfigured:
        return None
    return identity
