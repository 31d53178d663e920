"""Exceptions as records: ours and safe ones with their words, all others by their kind alone."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from typing import Any, Final

from parley.engine.script.faults import JudgeFault, Phase, PhaseFailed, SafeFailure
from parley.engine.script.plain import NotPlain, plain
from parley.engine.script.record import Cause, ErrorRecord
from parley.engine.text import clean

MAX_PRIVATE_CHARS: Final = 8_000
"""Of what is kept for the owner: the end of a traceback, where the reason stands."""
MAX_CAUSES: Final = 16


def error_record(
    phase: Phase, error: BaseException, *, step_index: int | None = None, criterion_id: str | None = None
) -> ErrorRecord:
    """`error` as it is kept; `private` holds what only the owner may see."""
    at: dict[str, Any] = {"step_index": step_index, "criterion_id": criterion_id}
    match error:
        case SafeFailure():
            return ErrorRecord(
                phase=phase,
                code=error.code,
                message=clean(error.message),
                details=_plain(error.details),
                causes=tuple(_causes(error)),
                **at,
            )
        case PhaseFailed():
            private = _private(error.__cause__) if error.__cause__ else None
            return ErrorRecord(
                phase=error.phase, code=error.code, message=error.message, private=private, **at
            )
        case JudgeFault():
            return ErrorRecord(phase=phase, code=error.code, message=clean(error.message), **at)
    message = f"{type(error).__name__} was raised."
    return ErrorRecord(phase=phase, code="app_error", message=message, private=_private(error), **at)


def _causes(error: SafeFailure) -> Iterator[Cause]:
    cause = error.__cause__
    for _ in range(MAX_CAUSES):
        if not isinstance(cause, SafeFailure):
            return
        yield Cause(code=cause.code, message=clean(cause.message), details=_plain(cause.details))
        cause = cause.__cause__


def _plain(details: object) -> Any:
    try:
        return plain(details)
    except NotPlain:
        return None


def _private(error: BaseException) -> str:
    return clean("".join(traceback.format_exception(error)))[-MAX_PRIVATE_CHARS:]
