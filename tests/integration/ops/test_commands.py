"""Operator commands on a real database."""

from __future__ import annotations

import asyncio
import re
import socket
import uuid
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
from typer.testing import CliRunner

from parley.sdk.cli import build_app
from parley.server.accounts.tokens import digest, kind_of
from parley.server.ops.local.shared_servers import Servers


def invoke(database_url: str, *words: str, **environment: str) -> tuple[int, str]:
    settings = {"PARLEY_DATABASE_URL": database_url, "COLUMNS": "120", **environment}
    result = CliRunner().invoke(build_app(), list(words), env=settings)
    return result.exit_code, result.output


def rows(database_url: str, question: str, *values: object) -> list[asyncpg.Record]:
    async def ask() -> list[asyncpg.Record]:
        connection = await asyncpg.connect(database_url)
        try:
            return await connection.fetch(question, *values)
        finally:
            await connection.close()

    return asyncio.run(ask())


@pytest.fixture
def empty_database_url(servers: Servers) -> Iterator[str]:
    """A database that nobody has migrated."""
    name = f"parley_empty_{uuid.uuid4().hex[:12]}"
    rows(servers.postgres_url, f'CREATE DATABASE "{name}"')
    yield servers.postgres_url.rpartition("/")[0] + f"/{name}"
    rows(servers.postgres_url, f'DROP DATABASE "{name}" WITH (FORCE)')


def test_an_account_gets_its_plan_its_credit_and_keys_that_are_only_stored_hashed(database_url: str) -> None:
    code, text = invoke(
        database_url, "accounts", "create", "Example Ltd", "--plan", "pro", "--credit", "12.5"
    )
    assert code == 0
    found = dict(re.findall(r"^(account|private key|public key) +(\S+)$", text, flags=re.MULTILINE))
    (account,) = rows(
        database_url, "SELECT name, plan, balance FROM accounts WHERE id = $1", uuid.UUID(found["account"])
    )
    assert (account["name"], account["plan"], str(account["balance"])) == (
        "Example Ltd",
        "pro",
        "12.500000000",
    )
    for kind in ("private", "public"):
        token = found[f"{kind} key"]
        assert kind_of(token) == kind
        (key,) = rows(database_url, "SELECT kind FROM api_keys WHERE sha256 = $1", digest(token))
        assert key["kind"] == kind


def test_a_further_key_stands_alone_on_its_line(database_url: str) -> None:
    _, text = invoke(database_url, "accounts", "create", "Example Ltd")
    account = text.split()[1]
    code, key = invoke(database_url, "keys", "create", account, "--kind", "public")
    assert code == 0
    assert kind_of(key.strip()) == "public"


def test_a_key_for_nobody_is_refused_in_one_sentence(database_url: str) -> None:
    assert invoke(database_url, "keys", "create", str(uuid.uuid4())) == (2, "There is no such account.\n")


@pytest.mark.parametrize(
    "words",
    [
        ("accounts", "create", "X", "--plan", "gold"),
        ("accounts", "create", "X", "--credit", "-1"),
        ("keys", "create", "not-a-uuid"),
        ("keys", "create"),
        ("fly",),
    ],
    ids=" ".join,
)
def test_a_wrong_word_ends_with_code_2_and_no_traceback(database_url: str, words: tuple[str, ...]) -> None:
    code, text = invoke(database_url, *words)
    assert code == 2
    assert "Traceback" not in text


def test_the_doctor_sends_an_empty_database_to_migrate_which_may_run_twice(empty_database_url: str) -> None:
    _, before = invoke(empty_database_url, "doctor")
    assert re.search(r"✗ migrations +not begun, newest is \w+; run `parley migrate`\.", before)
    for _ in range(2):
        code, text = invoke(empty_database_url, "migrate")
        assert code == 0
        assert text.startswith("The database is at revision ")
    _, after = invoke(empty_database_url, "doctor")
    assert re.search(r"✓ migrations +at the newest revision", after)


def test_the_doctor_names_a_database_that_does_not_exist(empty_database_url: str) -> None:
    code, text = invoke(empty_database_url + "_not", "doctor")
    assert code == 1
    assert re.search(r'✗ database +database ".+_not" does not exist', text)


@pytest.mark.parametrize("words", [("migrate",), ("accounts", "list")], ids=" ".join)
def test_a_command_for_a_database_that_does_not_exist_says_how_to_make_it(
    empty_database_url: str, words: tuple[str, ...]
) -> None:
    code, text = invoke(empty_database_url + "_not", *words)
    assert code == 2
    assert re.fullmatch(
        r'There is no such database \(database ".+_not" does not exist\); .+`createdb`.+\.\n', text
    )


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"PARLEY_LLM_BASE_URL": "http://127.0.0.1:9/v1"}, "is set, but nobody plays low user, low judge, "),
        ({"PARLEY_WORKER_CONCURRENCY": "many"}, "PARLEY_WORKER_CONCURRENCY: must be an integer."),
        ({"PARLEY_SECRET_KEYS": "short"}, "PARLEY_SECRET_KEYS"),
        ({"PARLEY_OUTBOUND_ALLOWED_NETWORKS": "everything"}, "everything"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_wrong_setting_stops_the_local_stack_before_its_databases(
    tmp_path: Path, database_url: str, settings: dict[str, str], told: str
) -> None:
    code, text = invoke(database_url, "dev", "--data-dir", str(tmp_path / "data"), **settings)
    assert code == 2
    assert told in text.replace("\n", " ")
    assert "Traceback" not in text
    assert "PostgreSQL" not in text


def test_commands_without_a_database_say_so_in_one_sentence() -> None:
    code, text = invoke("postgresql://x@127.0.0.1:9/x", "migrate")
    assert code == 2
    assert text == "The database does not answer; check PARLEY_DATABASE_URL, and ask `parley doctor`.\n"


def test_the_api_names_who_holds_its_port(database_url: str) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        code, text = invoke(database_url, "api", PARLEY_API_PORT=str(port))
    assert code == 2
    assert re.search(rf"Port {port} is in use by process \d+ \(.+PARLEY_API_PORT=\d+\.", text)
