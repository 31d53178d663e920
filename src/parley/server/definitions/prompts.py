"""The prompts in use, by their versions: a part of what a revision stands for."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from parley.engine.judging import prompt as judge
from parley.engine.simulator import prompt as user

PROMPT_VERSIONS: Mapping[str, str] = MappingProxyType(
    {"user": user.PROMPT_VERSION, "judge": judge.PROMPT_VERSION}
)
