"""What declared tools give for a call."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from parley.engine.messages import ToolCall
from parley.engine.script.faults import SafeFailure
from parley.engine.tools import contains
from parley.server.attempts.gateway.notes import StepNotes
from parley.server.attempts.gateway.webhooks import HookOwner, WebhookFailed, Webhooks
from parley.server.attempts.targets import AutoTool, OutputTool, Webhook


class Tools:
    """Answers the calls of one attempt that nobody has to wait for."""

    def __init__(self, webhooks: Webhooks, owner: HookOwner) -> None:
        self._webhooks = webhooks
        self._owner = owner
        self._numbers: Iterator[int] = itertools.count(1)

    async def answer(
        self, tool: AutoTool | OutputTool, call: ToolCall, arguments: dict[str, Any], notes: StepNotes
    ) -> str:
        """What the agent is told; noted. Raises `SafeFailure` for a webhook that failed."""
        if isinstance(tool, OutputTool):
            notes.output(tool.schema_id, tool.schema_version, arguments)
            return _given(tool.result, call, notes)
        if tool.webhook is not None:
            return await self._called(tool.webhook, call, arguments, notes)
        for stub in tool.stubs:
            if stub.match is None or contains(arguments, stub.match):
                is_error = "error" in stub.model_fields_set
                return _failed(stub.error, call, notes) if is_error else _given(stub.result, call, notes)
        # The agent may find another way, as it would with a real tool that does not know these arguments.
        return _failed("There is nothing for these arguments.", call, notes)

    async def _called(
        self, webhook: Webhook, call: ToolCall, arguments: dict[str, Any], notes: StepNotes
    ) -> str:
        data = {"name": call.name, "callId": call.id, "arguments": arguments}
        try:
            given = await self._webhooks.call(
                self._owner, webhook.url, "tool-call", next(self._numbers), data
            )
        except WebhookFailed as failed:
            told = f"The webhook of the tool {call.name} failed. {failed.message}"
            raise SafeFailure("tool_webhook_failed", told) from None
        if isinstance(given, dict) and set(given) == {"error"}:
            return _failed(given["error"], call, notes)
        return _given(given, call, notes)


def written(result: Any) -> str:
    """A result as the agent reads it."""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


def _given(result: Any, call: ToolCall, notes: StepNotes) -> str:
    notes.result(call, result)
    return written(result)


def _failed(error: Any, call: ToolCall, notes: StepNotes) -> str:
    notes.error(call, error)
    return json.dumps({"error": error}, ensure_ascii=False)
