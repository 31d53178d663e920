"""The shipped scripted llms as a process of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from types import TracebackType
from typing import Any, Self

from scripts.hotpath.meter import cpu_s_of
from scripts.hotpath.talk import CHUNKS_PER_CALL, user_script

MAX_TURNS = 20
"""Turns for which the scripted user has words."""
_DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class ScriptedLlms:
    """`async`-free client and owner of the server. Enter it to start the process."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "parley.server.llm.demo"], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None, "it was opened as a pipe"
        said = self._process.stdout.readline()
        if not said:
            raise RuntimeError("the scripted llms did not start")
        self.base_url = said.split()[-1]
        self._control = self.base_url.removesuffix("/v1") + "/control"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait(5)

    def pace(self, *, latency_ms: float = 0.0, gap_ms: float = 0.0, log_limit: int = 0) -> None:
        """Set the pace of all answers, and forget counts and log."""
        self._ask(
            "config",
            {
                "latency_ms": latency_ms,
                "gap_ms": gap_ms,
                "log_limit": log_limit,
                "chunks": CHUNKS_PER_CALL,
                "judge_score": 0.5,
            },
        )
        self._ask("reset", {})
        self._ask("script", user_script(MAX_TURNS))

    def stats(self) -> dict[str, Any]:
        """The server's counts since the last `pace`."""
        counts: dict[str, Any] = self._ask("stats")
        return counts

    def requests(self) -> list[dict[str, Any]]:
        """The remembered requests, oldest first."""
        lines: list[dict[str, Any]] = self._ask("requests")
        return lines

    def cpu_s(self) -> float:
        """CPU time the server has used."""
        return cpu_s_of(self._process.pid)

    def _ask(self, path: str, body: dict[str, Any] | bytes | None = None) -> Any:
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        with _DIRECTLY.open(urllib.request.Request(f"{self._control}/{path}", data), timeout=30) as answer:
            return json.loads(answer.read())
