"""The command line and the pytest plugin as processes of their own, against the stage."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from parley.sdk import AsyncClient
from tests.stage import Stage
from tests.stage import stage as stage
from tests.stage import stage_settings as stage_settings

PARLEY = (sys.executable, "-c", "from parley.sdk.cli import main; main()")


@dataclass(frozen=True, slots=True)
class Ran:
    """How a process ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Shell:
    """Runs programs in a folder, with the stage's address and key in the environment."""

    folder: Path
    environment: dict[str, str]

    async def start(self, *words: str, **extra: str) -> asyncio.subprocess.Process:
        """A process."""
        return await asyncio.create_subprocess_exec(
            *words,
            cwd=self.folder,
            env=self.environment | extra,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def run(self, *words: str, **extra: str) -> Ran:
        """A process to its end."""
        process = await self.start(*words, **extra)
        try:
            async with asyncio.timeout(50):
                out, err = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
        return Ran(process.returncode or 0, out.decode(), err.decode())

    async def parley(self, *words: str, **extra: str) -> Ran:
        """The command line."""
        return await self.run(*PARLEY, *words, **extra)


@pytest.fixture
def shell(stage: Stage, tmp_path: Path) -> Shell:
    """A customer's shell."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PARLEY_", "GITHUB_", "CI_", "GITLAB_", "PYTEST_"))
    }
    own = {"PARLEY_URL": stage.url, "PARLEY_API_KEY": stage.tenant.private.token, "COLUMNS": "90"}
    return Shell(tmp_path, clean | own | {"NO_COLOR": "1"})


@pytest.fixture
async def sdk(stage: Stage) -> AsyncIterator[AsyncClient]:
    """The SDK's client of the stage's account."""
    async with AsyncClient(stage.url, stage.tenant.private.token) as client:
        yield client
