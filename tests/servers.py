"""Postgres and Redis for the tests: those of this machine if they answer, else embedded ones.

`PARLEY_TEST_SERVERS=embedded` never uses the machine's.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

from parley.server.ops.local.shared_servers import Servers, shared_servers
from parley.server.ops.local.valkey import answers_ping

POSTGRES_PORT = 5432
REDIS_PORT = 6379


@contextlib.contextmanager
def running_servers() -> Iterator[Servers]:
    """Servers for one test session; the workers of a parallel run share one pair."""
    if os.environ.get("PARLEY_TEST_SERVERS") != "embedded" and _machine_has_both():
        yield Servers(
            postgres_url=f"postgresql://postgres@127.0.0.1:{POSTGRES_PORT}/postgres",
            redis_url=f"redis://127.0.0.1:{REDIS_PORT}/0",
        )
        return
    with shared_servers(_session_folder()) as servers:
        yield servers


def _session_folder() -> Path:
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or f"{os.getpid()}"
    return Path(tempfile.gettempdir()) / f"parley-tests-{os.getuid()}-{run}"


def _machine_has_both() -> bool:
    return trusts_superuser(POSTGRES_PORT) and answers_ping(REDIS_PORT)


def trusts_superuser(port: int) -> bool:
    """Whether a Postgres on this port lets `postgres` in without a password."""
    words = b"user\0postgres\0database\0postgres\0\0"
    hello = struct.pack("!ii", 8 + len(words), 3 << 16) + words
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1.0) as connection:
            connection.sendall(hello)
            answer = connection.recv(9, socket.MSG_WAITALL)
    except OSError:
        return False
    return len(answer) == 9 and answer[:1] == b"R" and answer[5:] == bytes(4)
