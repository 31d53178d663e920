"""The `Evals` that a command line names, and what its environment should hold."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterator, MutableMapping
from pathlib import Path

from parley.engine.script.faults import SuiteInvalid
from parley.sdk.errors import ParleyError
from parley.sdk.evals.errors import EvalsMisconfigured
from parley.sdk.evals.evals import Evals

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*")
_QUOTED = re.compile(r"""(["'])(.*)\1\s*(?:#.*)?""")


def load_evals(entry: str) -> Evals:
    """What `module:name` names: an `Evals`, or a function that makes one. Raises `EvalsMisconfigured`."""
    module_name, colon, name = entry.partition(":")
    if not (module_name and colon and name):
        raise EvalsMisconfigured(f"--entry is module:name, such as app.evals:evals, not {entry!r}.")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # as `python -m` does
    found = _attribute(_module(module_name), name, entry)
    if callable(found) and not isinstance(found, Evals):
        found = _made(found, entry)
    if not isinstance(found, Evals):
        raise EvalsMisconfigured(f"{entry} is {type(found).__name__}, not Evals.")
    return found


def load_env_file(path: Path, environment: MutableMapping[str, str] | None = None) -> None:
    """Set what a file of NAME=value lines names; what is set already stays."""
    environment = os.environ if environment is None else environment
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise EvalsMisconfigured(f"The env file {path} cannot be read: {error}.") from error
    for name, value in _pairs(lines, path):
        environment.setdefault(name, value)


def _pairs(lines: list[str], path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise EvalsMisconfigured(f"{path} line {number} is not NAME=value.")
        yield match[1], _value(match[2])


def _value(written: str) -> str:
    quoted = _QUOTED.fullmatch(written)
    return quoted[2] if quoted else written.partition(" #")[0].rstrip()


def _module(name: str) -> object:
    try:
        return importlib.import_module(name)
    except ParleyError:
        raise
    except SuiteInvalid as invalid:
        raise EvalsMisconfigured(f"{name}: {'; '.join(map(str, invalid.problems))}.") from invalid
    except Exception as error:
        raise EvalsMisconfigured(f"{name} cannot be imported: {type(error).__name__}: {error}") from error


def _attribute(module: object, name: str, entry: str) -> object:
    found = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise EvalsMisconfigured(f"{entry} does not exist: there is no {part}.")
        found = getattr(found, part)
    return found


def _made(make: object, entry: str) -> object:
    assert callable(make), "only what can be called makes anything"
    try:
        return make()
    except ParleyError:
        raise
    except SuiteInvalid as invalid:
        raise EvalsMisconfigured(f"{entry}: {'; '.join(map(str, invalid.problems))}.") from invalid
    except Exception as error:
        raise EvalsMisconfigured(f"{entry} raised {type(error).__name__}: {error}") from error
