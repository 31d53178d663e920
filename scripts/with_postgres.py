"""Runs a command that needs a Postgres: `python -m scripts.with_postgres COMMAND...`.

The server is the one the tests would use, started for the occasion when this machine has none. The
command finds it in PARLEY_CHECK_DATABASE_URL. A value set by the caller is kept.
"""

import os
import subprocess
import sys

from tests.servers import running_servers

VARIABLE = "PARLEY_CHECK_DATABASE_URL"


def main(command: list[str]) -> int:
    """Run `command` and return its exit status."""
    if VARIABLE in os.environ:
        return subprocess.run(command, check=False).returncode
    with running_servers() as servers:
        return subprocess.run(
            command, check=False, env={**os.environ, VARIABLE: servers.postgres_url}
        ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
