"""Names that suites use and the app does not have."""

from __future__ import annotations

from collections.abc import Iterator

from parley.engine.script.selection import named_filters
from parley.engine.script.shapes import Evidence, Named, Suite
from parley.sdk.evals.handlers import Handlers


def unknown_names(suite: Suite, evidence: Evidence, handlers: Handlers) -> Iterator[str]:
    """A sentence for each responder, reference and filter that is missing."""
    for name in sorted(named_filters(evidence) - set(handlers.filters)):
        yield f"Suite {suite.id!r} uses the filter {name!r}, which is not there."
    for case in suite.cases:
        for index, step in enumerate(case.steps):
            where = f"Step {index} of case {case.id!r}"
            if isinstance(step.resume, Named) and step.resume.using not in handlers.responders:
                yield f"{where} uses the responder {step.resume.using!r}, which is not there."
            named = step.expect.named_reference
            if named and named.using not in handlers.references:
                yield f"{where} uses the reference {named.using!r}, which is not there."
