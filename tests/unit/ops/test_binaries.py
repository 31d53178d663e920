from pathlib import Path

import pytest

from parley.server.ops.local.binaries import find_postgres, find_valkey
from parley.server.ops.local.errors import LocalStackError


def fake_program(path: Path, says: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


def fake_postgres(folder: Path, version: str) -> Path:
    fake_program(folder / "initdb", "initdb")
    fake_program(folder / "postgres", f"postgres (PostgreSQL) {version}")
    return folder


def test_a_set_postgres_folder_goes_before_every_installed_one(tmp_path: Path) -> None:
    folder = fake_postgres(tmp_path, "16.2")
    found = find_postgres(str(folder))
    assert (found.folder, found.major) == (folder, 16)


def test_without_a_setting_an_installed_postgres_is_found() -> None:
    found = find_postgres()
    assert found.major >= 15
    assert found.initdb.exists()


@pytest.mark.parametrize("version", ["14.11", "9.6"])
def test_a_postgres_older_than_supported_is_not_used(tmp_path: Path, version: str) -> None:
    with pytest.raises(LocalStackError, match="PARLEY_LOCAL_POSTGRES_BIN"):
        find_postgres(str(fake_postgres(tmp_path, version)))


def test_a_folder_without_initdb_is_no_postgres(tmp_path: Path) -> None:
    fake_program(tmp_path / "postgres", "postgres (PostgreSQL) 18.1")
    with pytest.raises(LocalStackError, match="no usable PostgreSQL"):
        find_postgres(str(tmp_path))


def test_data_of_another_version_is_explained() -> None:
    with pytest.raises(LocalStackError, match=r"made by PostgreSQL 99, but only \d+ is installed"):
        find_postgres(major=99)


def test_a_set_valkey_goes_before_every_installed_one(tmp_path: Path) -> None:
    program = fake_program(tmp_path / "my-server", "")
    assert find_valkey(str(program)) == program


def test_a_set_valkey_that_is_no_program_is_named(tmp_path: Path) -> None:
    with pytest.raises(LocalStackError, match="PARLEY_LOCAL_VALKEY_BIN"):
        find_valkey(str(tmp_path / "missing"))


def test_without_a_setting_an_installed_valkey_is_found() -> None:
    assert find_valkey().is_file()
