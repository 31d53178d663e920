"""The data folder of a local stack: who uses it, its secrets, and what scripts read."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import secrets
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parley.server.ops.local.errors import LocalStackError
from parley.server.ops.local.other_user import private_folder
from parley.server.ops.local.ports import free_port, is_free


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """What guards the data of one folder; made once, at random."""

    postgres_password: str
    valkey_password: str
    seal_key: str
    admin_token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DevFile:
    """`dev.json`: how scripts reach the running stack, as a customer and as its operator.

    The `admin_` fields are empty in a file of an earlier release.
    """

    url: str
    account_id: str
    private_key: str
    public_key: str
    admin_url: str = ""
    admin_token: str = ""


class Home:
    """One data folder."""

    def __init__(self, folder: Path) -> None:
        """Make the folder if needed, closed to other users. Raises `LocalStackError`."""
        try:
            self.folder = private_folder(folder.absolute())
            self.logs = private_folder(self.folder / "logs")
            # The data is nobody's source code.
            (self.folder / ".gitignore").write_text("*\n")
        except (FileExistsError, NotADirectoryError) as error:
            raise LocalStackError(f"{folder} is a file; name a folder with --data-dir.") from error
        except OSError as error:
            raise LocalStackError(f"The data folder {folder} cannot be used: {error.strerror}.") from error

    @contextlib.contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep other stacks off this folder. Raises `LocalStackError` when one runs on it.

        The system lets go of the claim when this process ends, however it ends.
        """
        with (self.folder / "claim.lock").open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                raise LocalStackError(self._already_running(lock.read())) from None
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
            yield

    def secrets(self) -> Secrets:
        """The folder's secrets, made at the first call."""
        path = self.folder / "secrets.json"
        if not path.exists():
            made = {field.name: secrets.token_urlsafe(32) for field in dataclasses.fields(Secrets)}
            write_private(path, made)
        try:
            return Secrets(**json.loads(path.read_text()))
        except (ValueError, TypeError) as error:
            raise LocalStackError(
                f"{path} is damaged; restore it, or remove {self.folder} to start afresh."
            ) from error

    def record(self, name: str) -> Path:
        """Where the running process `name` is noted."""
        return self.folder / f"{name}.pid.json"

    def log(self, name: str) -> Path:
        """Where the output of `name` goes."""
        return self.logs / f"{name}.log"

    def kept_port(self, name: str) -> int:
        """A free port that stays the same from start to start, unless somebody else has taken it."""
        path = self.folder / f"{name}.port"
        with contextlib.suppress(OSError, ValueError):
            if is_free(port := int(path.read_text())):
                return port
        port = free_port()
        path.write_text(str(port))
        return port

    def read_dev_file(self) -> DevFile | None:
        """What the last start wrote; None if there is nothing usable."""
        try:
            return DevFile(**json.loads((self.folder / "dev.json").read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def write_dev_file(self, content: DevFile) -> Path:
        """Write `dev.json`, mode 0600."""
        return write_private(self.folder / "dev.json", dataclasses.asdict(content))

    def write_environment(self, environment: Mapping[str, str]) -> Path:
        """Write `stack.env`, mode 0600: the stack's settings for operator commands, as a shell reads them."""
        lines = [
            f"{name}={shlex.quote(value)}"
            for name, value in sorted(environment.items())
            if name.startswith("PARLEY_")
        ]
        return _write_private_text(self.folder / "stack.env", "\n".join(lines) + "\n")

    def _already_running(self, pid: str) -> str:
        known = self.read_dev_file()
        where = f" at {known.url}" if known else ""
        stop = f"stop it with `kill {pid}`" if pid else "stop it"
        return (
            f"A local stack already runs on {self.folder}{where} (process {pid or 'unknown'}); "
            f"use that one, {stop}, or choose another folder with --data-dir."
        )


def write_private(path: Path, content: dict[str, Any]) -> Path:
    """Replace a JSON file, readable by its owner alone, all at once."""
    return _write_private_text(path, json.dumps(content, indent=2) + "\n")


def _write_private_text(path: Path, content: str) -> Path:
    unfinished = path.with_name(path.name + ".new")
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(content)
    unfinished.rename(path)
    return path
