"""How a step goes wrong on the agent's side."""

from __future__ import annotations


class AgentFailed(Exception):
    """The agent did something that no step can go on from. Code and message are fit for everyone's eyes."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
