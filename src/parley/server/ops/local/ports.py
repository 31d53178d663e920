"""Ports of the loopback address: a free one, and who holds a busy one."""

from __future__ import annotations

import itertools
import shlex
import shutil
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LOOPBACK = "127.0.0.1"
_LISTENING = "0A"
_PARLEY = ("parley", "parley.sdk.cli", "parley.server.ops.cli")
"""The command as it is installed, and as a module."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The process that listens on a port."""

    pid: int
    command: str


def free_port() -> int:
    """A port nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def is_free(port: int, address: str = LOOPBACK) -> bool:
    """Whether we could listen on it."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True


def next_free(port: int) -> int:
    """The first free port above `port`, or any free one."""
    return (
        next((other for other in range(port + 1, min(port + 50, 65_536)) if is_free(other)), 0) or free_port()
    )


def holder_of(port: int) -> Holder | None:
    """Who listens on the port, as far as this user may see."""
    if Path("/proc/net/tcp").exists():
        return _holder_from_proc(port)
    return _holder_from_lsof(port)


def busy_port_text(port: int, setting: str = "--port ") -> str:
    """One sentence: the port is taken, by whom, and the way out. Nobody is told to end a stranger."""
    holder = holder_of(port)
    other = f"choose another port with {setting}{next_free(port)}"
    if holder is None:
        return f"Port {port} is in use by a process this user cannot see; {other}."
    stack = _stack_above(holder.pid)
    if stack is None:
        return f"Port {port} is in use by process {holder.pid} ({holder.command}); {other}."
    return (
        f"Port {port} is in use by process {stack.pid} ({stack.command}), a local stack: "
        f"stop it with Ctrl-C in its terminal, or {other}."
    )


def is_stack(words: Sequence[str]) -> bool:
    """Whether a command line, word by word, is `parley dev`, however it was written."""
    return any(
        Path(word).name in _PARLEY and following == "dev" for word, following in itertools.pairwise(words)
    )


def _stack_above(pid: int) -> Holder | None:
    """The `parley dev` that started a process; None when it is nobody's, or the system has no /proc."""
    while pid > 1:
        process = Path(f"/proc/{pid}")
        try:
            if is_stack(_words(process)):
                return Holder(pid=pid, command=_command(process))
            # After the name, which may hold anything, come the state and the parent (proc(5)).
            pid = int((process / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return None
    return None


def _holder_from_proc(port: int) -> Holder | None:
    inodes = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(str(fd.readlink()) in inodes for fd in (process / "fd").iterdir()):
                return Holder(pid=int(process.name), command=_command(process))
        except OSError:
            continue
    return None


def _listening_inodes(port: int) -> list[str]:
    inodes = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if not Path(table).exists():
            continue
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.append(fields[9])
    return inodes


def _command(process: Path) -> str:
    text = " ".join(shlex.join(_words(process)).split())
    return text if len(text) <= 80 else text[:79] + "…"


def _words(process: Path) -> list[str]:
    words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
    return [word for word in words if word]


def _holder_from_lsof(port: int) -> Holder | None:
    lsof = shutil.which("lsof")
    if lsof is None:
        return None
    said = subprocess.run(
        [lsof, "-nP", f"-iTCP:{port}", "-sTCP:LISTEN", "-Fpc"], capture_output=True, text=True, check=False
    ).stdout.splitlines()
    values = {line[0]: line[1:] for line in reversed(said) if line}
    return Holder(pid=int(values["p"]), command=values.get("c", "?")) if "p" in values else None
