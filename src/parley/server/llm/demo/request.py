"""One chat-completions request, as the scripted llms read it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

import orjson

Part: TypeAlias = Literal["user", "judge", "assistant"]
"""The part an llm plays, told by its name."""

_TURN = re.compile(r"\bturn[\s_]*(?:number)?[\"'\s:=#]*(\d{1,3})\b", re.IGNORECASE)


class BadRequestError(Exception):
    """The body is no chat-completions request; the message says why."""


def part_of(llm: str) -> Part:
    """The part an llm of this name plays: `user`, `judge`, else `assistant`."""
    if "judge" in llm:
        return "judge"
    return "user" if "user" in llm else "assistant"


def _text_of(message: Any) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""


@dataclass(frozen=True)
class ChatRequest:
    """The request's fields, and what a script may ask about it."""

    llm: str
    streamed: bool
    wants_usage: bool
    fields: dict[str, Any]
    body_bytes: int
    headers: dict[str, str] = field(default_factory=dict)

    @cached_property
    def part(self) -> Part:
        """The part this llm plays."""
        return part_of(self.llm)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The request's messages."""
        messages: list[dict[str, Any]] = self.fields["messages"]
        return messages

    def count(self, role: str) -> int:
        """How many messages of a role the request holds."""
        return sum(1 for message in self.messages if message.get("role") == role)

    @cached_property
    def text(self) -> str:
        """All words of all messages."""
        return "\n".join(_text_of(message) for message in self.messages)

    @property
    def first_user_text(self) -> str:
        """The words of the first user message, empty without one."""
        return next((_text_of(line) for line in self.messages if line.get("role") == "user"), "")

    @property
    def answers_tool(self) -> bool:
        """Whether the last message is a tool's result."""
        return bool(self.messages) and self.messages[-1].get("role") == "tool"

    @cached_property
    def turn(self) -> int:
        """The turn this request belongs to, from 1, read from its content alone.

        An assistant's turn is the number of user messages; the simulated user's (its talk has the
        roles swapped) one more than the number of assistant messages; a judge's the highest N of
        "turn N" in its prompt, 1 where there is none.
        """
        if self.part == "assistant":
            return max(1, self.count("user"))
        if self.part == "user":
            return self.count("assistant") + 1
        return max((int(found) for found in _TURN.findall(self.text)), default=1)

    @property
    def response_schema(self) -> dict[str, Any] | None:
        """The JSON Schema the answer has to fit; an empty one for `json_object`; None for text."""
        wanted = self.fields.get("response_format")
        if not isinstance(wanted, dict) or wanted.get("type") not in ("json_schema", "json_object"):
            return None
        schema = (wanted.get("json_schema") or {}).get("schema")
        return schema if isinstance(schema, dict) else {}

    @property
    def forced_tool(self) -> dict[str, Any] | None:
        """The function the request insists on being called, None where the llm is free."""
        choice = self.fields.get("tool_choice")
        functions = [
            tool["function"]
            for tool in self.fields.get("tools") or []
            if isinstance(tool, dict) and isinstance(tool.get("function"), dict)
        ]
        if choice == "required":
            return functions[0] if functions else None
        if isinstance(choice, dict):
            name = (choice.get("function") or {}).get("name")
            return next((one for one in functions if one.get("name") == name), None)
        return None


def read_request(body: bytes, headers: dict[str, str]) -> ChatRequest:
    """Read a body; raises `BadRequestError`."""
    try:
        fields = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequestError(f"We could not parse the JSON body of your request: {error}") from error
    if not isinstance(fields, dict):
        raise BadRequestError("The body must be a JSON object.")
    llm, messages = fields.get("model"), fields.get("messages")
    if not isinstance(llm, str) or not llm:
        raise BadRequestError("You must provide a model parameter.")
    if not isinstance(messages, list) or not messages or not all(isinstance(m, dict) for m in messages):
        raise BadRequestError("'messages' must be a list with at least one message.")
    options = fields.get("stream_options")
    return ChatRequest(
        llm=llm,
        streamed=bool(fields.get("stream")),
        wants_usage=isinstance(options, dict) and bool(options.get("include_usage")),
        fields=fields,
        body_bytes=len(body),
        headers=headers,
    )
