"""What is said in a conversation: parts of one message, and the lines of an OpenAI-style history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Visible words."""

    text: str
    kind: Literal["content"] = "content"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoning:
    """What the llm thought before it spoke; never sent to the other side."""

    text: str
    kind: Literal["reasoning"] = "reasoning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A refusal, sent by the provider apart from the content."""

    text: str
    kind: Literal["refusal"] = "refusal"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One whole tool call. `arguments` is the raw string the llm wrote; it may not be JSON."""

    id: str
    name: str
    arguments: str
    kind: Literal["tool_call"] = "tool_call"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The answer to the call `id`, streamed by the gateway itself or given by us."""

    id: str
    name: str
    content: str
    kind: Literal["tool_result"] = "tool_result"


Words: TypeAlias = Text | Reasoning | Refusal
Part: TypeAlias = Text | Reasoning | Refusal | ToolCall | ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One line of a chat-completions history.

    `content` is a string, or the list of content parts exactly as a customer wrote it.
    """

    role: Role
    content: str | Sequence[dict[str, Any]] = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None

    @property
    def text(self) -> str:
        """The words of the message, content parts joined."""
        if isinstance(self.content, str):
            return self.content
        return "".join(str(part.get("text", "")) for part in self.content)

    def wire(self) -> dict[str, Any]:
        """The message as the chat-completions API takes it."""
        line: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.name is not None:
            line["name"] = self.name
        if self.tool_calls:
            line["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in self.tool_calls
            ]
        if self.tool_call_id is not None:
            line["tool_call_id"] = self.tool_call_id
        return line


def joined(parts: Sequence[Part], kind: Literal["content", "reasoning", "refusal"]) -> str:
    """All words of one kind in `parts`, in order."""
    wanted = _WORDS[kind]
    return "".join([part.text for part in parts if isinstance(part, wanted)])


_WORDS: dict[str, type[Words]] = {"content": Text, "reasoning": Reasoning, "refusal": Refusal}


def open_calls(parts: Sequence[Part]) -> tuple[ToolCall, ...]:
    """The tool calls in `parts` that no result in `parts` answers."""
    answered = {part.id for part in parts if isinstance(part, ToolResult)}
    return tuple(part for part in parts if isinstance(part, ToolCall) and part.id not in answered)


def history(parts: Sequence[Part]) -> tuple[Message, ...]:
    """One answer as history lines: calls and their results stay in the order they were streamed.

    Every call is followed by its result before anything else is said, wherever the result was streamed,
    pieces of one result joined. Reasoning, and results of no call, are left out. An answer without words
    becomes one empty assistant line, a refusal becomes the content of its line, so that what is sent
    later is always a valid history.
    """
    if len(parts) == 1 and isinstance(parts[0], Text):  # nearly every answer there is
        return (Message(role="assistant", content=parts[0].text),)
    results = _results(parts)
    lines: list[Message] = []
    words: list[str] = []
    calls: list[ToolCall] = []
    asked: set[str] = set()
    answered: dict[str, None] = {}  # calls of this line whose results have begun, in that order

    def close() -> None:
        if words or calls:
            lines.append(Message(role="assistant", content="".join(words), tool_calls=tuple(calls)))
            late = [call.id for call in calls if call.id in results and call.id not in answered]
            lines.extend(
                Message(role="tool", content=results[call_id], tool_call_id=call_id)
                for call_id in (*answered, *late)
            )
        words.clear()
        calls.clear()
        asked.clear()
        answered.clear()

    for part in parts:
        match part:
            case Text() | Refusal():
                if answered:
                    close()
                words.append(part.text)
            case ToolCall():
                if answered and len(answered) == len(calls):
                    close()
                calls.append(part)
                asked.add(part.id)
            case ToolResult():
                if part.id in asked:
                    answered[part.id] = None
            case Reasoning():
                pass
    close()
    return tuple(lines) or (Message(role="assistant", content=""),)


def _results(parts: Sequence[Part]) -> dict[str, str]:
    pieces: dict[str, list[str]] = {}
    for part in parts:
        if isinstance(part, ToolResult):
            pieces.setdefault(part.id, []).append(part.content)
    return {call_id: "".join(contents) for call_id, contents in pieces.items()}


def words_of(message: Message) -> str:
    """The words of a history line; a content part that is not text is named in brackets."""
    if isinstance(message.content, str):
        return message.content
    return "".join(_words_of_part(part) for part in message.content)


def _words_of_part(part: dict[str, Any]) -> str:
    kind = part.get("type", "text")
    return str(part.get("text", "")) if kind == "text" else f"[{kind}, not shown here]"
