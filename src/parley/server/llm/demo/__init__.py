"""The shipped OpenAI-compatible server with scripted llms: the demo's, and that of every test.

Start it in process (`async with DemoServer() as server`) or as `python -m parley.server.llm.demo`.
Without a script an llm plays the part its name tells (`user`, `judge`, else an assistant). The names
`demo-user`, `demo-judge` and `demo-shop` play the demo's stories, `fault/ID` the faults of `FAULTS`.
"""

from parley.server.llm.demo.behaviours import (
    Behaviour,
    Call,
    CallTool,
    Chunks,
    Cut,
    ErrorFrame,
    Flood,
    Framing,
    Hang,
    Html,
    Raw,
    Refuse,
    Say,
    Status,
)
from parley.server.llm.demo.faults import FAULTS
from parley.server.llm.demo.script import Rule, Script, opinion, script_json
from parley.server.llm.demo.server import DemoServer
from parley.server.llm.demo.space import LoggedRequest, Settings, Space, Stats

__all__ = [
    "FAULTS",
    "Behaviour",
    "Call",
    "CallTool",
    "Chunks",
    "Cut",
    "DemoServer",
    "ErrorFrame",
    "Flood",
    "Framing",
    "Hang",
    "Html",
    "LoggedRequest",
    "Raw",
    "Refuse",
    "Rule",
    "Say",
    "Script",
    "Settings",
    "Space",
    "Stats",
    "Status",
    "opinion",
    "script_json",
]
