"""Structured logs: one JSON object per line, with everything secret taken out."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping
from typing import Any, Literal

import structlog
from structlog.typing import EventDict, WrappedLogger

REDACTED = "[redacted]"
_SECRET_NAMES = re.compile(
    r"authorization|api[-_]?key|secret|password|passwd|cookie|(?<![a-z])token(?!s)|hook[-_]?key",
    re.IGNORECASE,
)
_SECRET_TEXTS = (
    (re.compile(r"\b(sk|pk)-[A-Za-z0-9_\-]{8,}"), r"\1-" + REDACTED),
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/\-]{6,}=*"), r"\1 " + REDACTED),
    (re.compile(r"(?i)(api[-_]?key=)[^&\s\"']+"), r"\1" + REDACTED),
    (re.compile(r"(?i)\b([a-z][a-z0-9+.\-]*://)[^/@\s:]*:[^/@\s]+@"), r"\1" + REDACTED + "@"),
)
_MAX_DEPTH = 6


def redacted(text: str) -> str:
    """`text` without API keys, credentials of an Authorization header, and passwords in addresses."""
    for pattern, replacement in _SECRET_TEXTS:
        text = pattern.sub(replacement, text)
    return text


def configure_logs(
    level: Literal["debug", "info", "warning", "error"], form: Literal["json", "console"]
) -> None:
    """Send everything, also what libraries log, through one redacting chain to standard error."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _redact,
    ]
    renderer: Any = structlog.processors.JSONRenderer(ensure_ascii=True)
    if form == "console":
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for noisy in ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio"):
        logging.getLogger(noisy).handlers.clear()
        logging.getLogger(noisy).propagate = True
    logging.getLogger("uvicorn.access").disabled = True
    # Two lines a job, of which ours tell the same: who looks for a fault in the queue asks for debug.
    logging.getLogger("arq.worker").setLevel(logging.DEBUG if level == "debug" else logging.WARNING)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def logger(name: str) -> structlog.stdlib.BoundLogger:
    """The logger of a module; takes an event name and keyword facts."""
    bound: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return bound


def _redact(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    return {key: _clean(key, value, 0) for key, value in event.items()}


def _clean(name: str, value: Any, depth: int) -> Any:
    if name and _SECRET_NAMES.search(name) and not isinstance(value, bool | int | float | None):
        return REDACTED
    if isinstance(value, str):
        return redacted(value)
    if depth >= _MAX_DEPTH or isinstance(value, bool | int | float) or value is None:
        return value
    if isinstance(value, Mapping):
        return {key: _clean(str(key), item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_clean("", item, depth + 1) for item in value]
    return value if name.startswith("_") else redacted(str(value))
