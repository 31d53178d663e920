"""What keeps evals from running at all."""

from __future__ import annotations

from parley.sdk.errors import ParleyError


class EvalsMisconfigured(ParleyError):
    """Suites, handlers and judge do not fit together. Raised before anything of the app is called."""
