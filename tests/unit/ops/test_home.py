import json
import subprocess
import sys
from pathlib import Path

import pytest

from parley.server.ops.local.errors import LocalStackError
from parley.server.ops.local.home import DevFile, Home

DEV_FILE = DevFile(
    url="http://127.0.0.1:8000",
    account_id="a",
    private_key="sk",
    public_key="pk",
    admin_url="",
    admin_token="",
)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_dev_file_has_the_promised_fields_and_is_closed_to_others(tmp_path: Path) -> None:
    path = Home(tmp_path).write_dev_file(DEV_FILE)
    assert mode(path) == 0o600
    assert sorted(json.loads(path.read_text())) == [
        "account_id",
        "admin_token",
        "admin_url",
        "private_key",
        "public_key",
        "url",
    ]


def test_dev_file_survives_a_start(tmp_path: Path) -> None:
    Home(tmp_path).write_dev_file(DEV_FILE)
    assert Home(tmp_path).read_dev_file() == DEV_FILE


def test_a_damaged_dev_file_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / "dev.json").write_text('{"url": 1')
    assert Home(tmp_path).read_dev_file() is None


def test_secrets_are_made_once_and_closed_to_others(tmp_path: Path) -> None:
    first = Home(tmp_path).secrets()
    assert Home(tmp_path).secrets() == first
    assert first.postgres_password != first.valkey_password
    assert len(first.seal_key) >= 32
    assert mode(tmp_path / "secrets.json") == 0o600


def test_damaged_secrets_are_named_and_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "secrets.json").write_text("{}")
    with pytest.raises(LocalStackError, match=r"secrets\.json is damaged"):
        Home(tmp_path).secrets()
    assert (tmp_path / "secrets.json").read_text() == "{}"


def test_other_users_cannot_list_the_folder(tmp_path: Path) -> None:
    home = Home(tmp_path / "data")
    assert mode(home.folder) & 0o066 == 0
    assert mode(home.logs) & 0o066 == 0


def test_a_second_stack_is_told_who_runs_and_where(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write_dev_file(DEV_FILE)
    refusal = pytest.raises(LocalStackError, match=r"at http://127.0.0.1:8000 \(process \d+\)")
    with home.claimed(), refusal, Home(tmp_path).claimed():
        pass


def test_the_claim_ends_with_its_process_however_that_ends(tmp_path: Path) -> None:
    killed = (
        "import os, pathlib, sys; from parley.server.ops.local.home import Home\n"
        "with Home(pathlib.Path(sys.argv[1])).claimed(): os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", killed, tmp_path], check=False).returncode == -9
    with Home(tmp_path).claimed():
        pass


def test_environment_file_is_read_by_a_shell_as_it_was_written(tmp_path: Path) -> None:
    path = Home(tmp_path).write_environment({"PARLEY_X": "it's $HOME; `id`", "OTHER": "no"})
    said = subprocess.run(
        ["sh", "-c", f'. "{path}"; printf %s "$PARLEY_X"'], capture_output=True, text=True, check=True
    )
    assert said.stdout == "it's $HOME; `id`"
    assert "OTHER" not in path.read_text()
    assert mode(path) == 0o600


def test_a_kept_port_stays_until_somebody_else_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path)
    port = home.kept_port("llms")
    assert home.kept_port("llms") == port
    monkeypatch.setattr("parley.server.ops.local.home.is_free", lambda _port: False)
    assert home.kept_port("llms") != port


def test_a_file_in_place_of_the_folder_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("")
    for folder in (tmp_path / "notes", tmp_path / "notes" / "inner"):
        with pytest.raises(LocalStackError, match=r"name a folder with --data-dir\.$"):
            Home(folder)
