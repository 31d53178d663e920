import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from parley.server.ops.local.processes import birth_mark
from parley.server.ops.local.shared_servers import shared_servers
from parley.server.ops.local.valkey import answers_ping
from tests.integration.ops.test_processes import eventually
from tests.servers import trusts_superuser

USER = """
import pathlib, sys
from parley.server.ops.local.shared_servers import shared_servers
with shared_servers(pathlib.Path(sys.argv[1])) as servers:
    print(servers.postgres_url, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        yield Path(made) / "shared"


def start_user(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", USER, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def first_line(user: subprocess.Popen[str]) -> str:
    assert user.stdout is not None
    return user.stdout.readline().strip()


def test_users_share_one_pair_and_the_last_ends_it_also_after_a_kill(folder: Path) -> None:
    users = [start_user(folder) for _ in range(3)]
    urls = {first_line(user) for user in users}
    assert len(urls) == 1
    port = int(urls.pop().rpartition("/")[0].rpartition(":")[2])

    users[0].kill()
    users[1].communicate("")
    assert users[0].wait() == -signal.SIGKILL
    assert users[1].returncode == 0
    assert trusts_superuser(port)

    users[2].communicate("")
    assert users[2].returncode == 0
    assert not trusts_superuser(port)
    assert not folder.exists()
    users[0].communicate()


def test_servers_end_when_every_user_was_killed(folder: Path) -> None:
    user = start_user(folder)
    assert first_line(user)
    keeper = int((folder / "keeper.pid.json").read_text().split(":")[1].split(",")[0])
    user.kill()
    user.communicate()
    assert eventually(lambda: birth_mark(keeper) is None)


def test_a_new_user_after_the_last_one_gets_new_servers(folder: Path) -> None:
    with shared_servers(folder) as first:
        pass
    with shared_servers(folder) as second:
        assert second.redis_url != first.redis_url or second.postgres_url != first.postgres_url
        assert answers_ping(int(second.redis_url.rpartition("/")[0].rpartition(":")[2]))
    assert os.listdir(folder.parent) == []
