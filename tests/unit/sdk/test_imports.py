"""What importing the SDK costs: told by what it loads, for time depends on the machine."""

from __future__ import annotations

import subprocess
import sys

import pytest

import parley.sdk

_HEAVY = {"typer", "rich", "yaml", "jsonschema", "re2", "pytest", "asyncpg", "sqlalchemy", "fastapi"}


def loaded_by(code: str) -> set[str]:
    script = f"{code}\nimport sys; print('\\n'.join(sys.modules))"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(said.stdout.split())


def foreign(code: str) -> set[str]:
    """What is loaded beyond the SDK's own and the two it stands on; httpx itself looks for rich."""
    base = loaded_by("import httpx, pydantic")
    return {
        name
        for name in loaded_by(code) - base
        if name.startswith(("parley.server", "parley.engine")) or name.partition(".")[0] in _HEAVY
    }


def test_importing_the_sdk_loads_nothing_at_all() -> None:
    loaded = loaded_by("import parley.sdk")
    assert {name for name in loaded if name.startswith("parley")} == {"parley", "parley.sdk"}
    assert not {"httpx", "pydantic"} & loaded
    assert foreign("import parley.sdk") == set()


@pytest.mark.parametrize("names", ["Client, AsyncClient", "evaluate, Report, assert_evaluation, Trials"])
def test_using_it_loads_httpx_and_pydantic_and_no_more(names: str) -> None:
    assert foreign(f"from parley.sdk import {names}") == set()


def test_the_blocking_client_loads_no_models_and_no_event_loop() -> None:
    """The answers of calls are models, which cost more than the client: they are made at the first call."""
    loaded = loaded_by("from parley.sdk import Client, ParleyError, RetryPolicy")
    ours = {name.removeprefix("parley.sdk.") for name in loaded if name.startswith("parley.sdk.")}
    assert ours <= {
        *("answering", "bounded", "call", "client", "connection", "errors", "frames", "groups"),
        *("paging", "patience", "requests", "retries", "sync_driver", "unreachable", "watching"),
    }
    beyond = loaded - loaded_by("import httpx, pydantic")
    assert {"asyncio", "pydantic.main", "importlib.metadata", "csv", "zoneinfo"} & beyond == set()


def test_every_public_name_is_there_and_listed() -> None:
    for name in parley.sdk.__all__:
        assert getattr(parley.sdk, name) is not None
    assert set(parley.sdk.__all__) <= set(dir(parley.sdk))
    with pytest.raises(AttributeError, match="no attribute 'Klient'"):
        _ = parley.sdk.Klient
