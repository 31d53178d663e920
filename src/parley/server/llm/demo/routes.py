"""Which address does what."""

from __future__ import annotations

import dataclasses
import re
import resource
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import orjson
from pydantic import ValidationError

from parley.server.llm.demo.answers import Answer, error_fields, json_answer
from parley.server.llm.demo.faults import FAULTS
from parley.server.llm.demo.frames import CREATED
from parley.server.llm.demo.script import SCRIPT
from parley.server.llm.demo.space import Settings, Space
from parley.server.llm.demo.stories import JUDGE_LLM, SHOP_LLM, USER_LLM

if TYPE_CHECKING:
    from parley.server.llm.demo.server import DemoServer

_SPACE = re.compile(r"\A/ns/([^/]{1,200})(/.*)\Z", re.DOTALL)
_SETTINGS = {one.name: one.type for one in dataclasses.fields(Settings)}
LLMS = (USER_LLM, JUDGE_LLM, SHOP_LLM, "user", "judge", "assistant")


@dataclass(frozen=True, slots=True)
class Route:
    """A namespace, and the path within it."""

    space: Space
    path: str

    @property
    def is_chat(self) -> bool:
        """Whether this is the chat-completions route."""
        return self.path in ("/v1/chat/completions", "/chat/completions")


def route(url: str, server: DemoServer) -> Route:
    """Find the namespace of a target; the query is not looked at."""
    path = url.partition("?")[0]
    found = _SPACE.match(path)
    if found is None:
        return Route(server.space(""), path)
    return Route(server.space(unquote(found[1])), found[2])


def served(target: Route, method: str, body: bytes, server: DemoServer) -> Answer:
    """Answer everything but chat completions."""
    space = target.space
    match (method, target.path.rstrip("/")):
        case ("GET", "/v1/models" | "/models"):
            return json_answer({"object": "list", "data": [_llm(name) for name in _names()]})
        case ("POST", "/control/script"):
            return _install(space, body)
        case ("POST", "/control/config"):
            return _configure(space, body)
        case ("GET", "/control/config"):
            return json_answer(dataclasses.asdict(space.settings))
        case ("POST", "/control/reset"):
            space.reset()
            return json_answer({"ok": True})
        case ("GET", "/control/requests"):
            return json_answer([one.wire() for one in space.requests])
        case ("GET", "/control/stats"):
            return json_answer(_stats(space, server))
        case ("GET", "/control/faults"):
            return json_answer({name: fault.sentence for name, fault in FAULTS.items()})
    return json_answer(error_fields(f"There is nothing at {method} {target.path}.", "not_found"), 404)


def _names() -> list[str]:
    return [*LLMS, *(f"fault/{name}" for name in FAULTS)]


def _llm(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": CREATED, "owned_by": "parley-demo"}


def _install(space: Space, body: bytes) -> Answer:
    try:
        script = SCRIPT.validate_json(body)
    except ValidationError as error:
        return json_answer(error_fields(f"The script does not fit: {error}", "bad_script"), 400)
    space.install(script)
    return json_answer({"ok": True, "rules": len(script.rules)})


def _configure(space: Space, body: bytes) -> Answer:
    try:
        changes = orjson.loads(body)
    except orjson.JSONDecodeError:
        changes = None
    if not isinstance(changes, dict) or not all(
        name in _SETTINGS and isinstance(value, int | float) and value >= 0 for name, value in changes.items()
    ):
        known = ", ".join(_SETTINGS)
        return json_answer(error_fields(f"Send an object of numbers, known are {known}.", "bad_config"), 400)
    whole = {name: int(value) if _SETTINGS[name] == "int" else value for name, value in changes.items()}
    space.configure(**whole)
    return json_answer(dataclasses.asdict(space.settings))


def _stats(space: Space, server: DemoServer) -> dict[str, Any]:
    spent = resource.getrusage(resource.RUSAGE_SELF)
    return {
        **dataclasses.asdict(space.stats),
        "connections_open": len(server.connections),
        "cpu_s": spent.ru_utime + spent.ru_stime,
        "max_rss_kb": spent.ru_maxrss,
    }
