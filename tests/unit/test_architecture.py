"""The import rules hold on the tree, and each of them breaks when somebody goes against it."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Plant:
    """A wrong import: `importer` is a new file that imports `imported`, made too when the tree has it not."""

    contract: str
    importer: str
    imported: str


PLANTS = {
    "engine_reaches_a_client": Plant("The engine reaches no framework", "parley.engine.planted_a", "httpx"),
    "engine_reads_the_clock": Plant("The engine reaches no framework", "parley.engine.planted_b", "time"),
    "engine_knows_the_server": Plant(
        "The server and the SDK stand on", "parley.engine.planted_c", "parley.server.kit.planted"
    ),
    "server_knows_the_sdk": Plant(
        "The server and the SDK stand on", "parley.server.kit.planted_a", "parley.sdk.planted"
    ),
    "sdk_knows_the_server": Plant(
        "The server and the SDK stand on", "parley.sdk.planted_a", "parley.server.kit.planted"
    ),
    "lower_room_uses_a_higher_one": Plant(
        "The rooms of the server", "parley.server.billing.planted_a", "parley.server.runs.planted"
    ),
    "room_uses_its_neighbour": Plant(
        "The rooms of the server", "parley.server.gateways.planted_a", "parley.server.hooks.planted"
    ),
    "shell_uses_another_shell": Plant(
        "The rooms of the server", "parley.server.worker.planted_a", "parley.server.api.planted"
    ),
    "llm_knows_the_database": Plant(
        "The llm transport", "parley.server.llm.planted_a", "parley.server.db.planted"
    ),
    "dashboard_knows_runs": Plant(
        "The dashboard", "parley.server.web.planted_a", "parley.server.runs.planted"
    ),
    "room_reads_settings": Plant("Settings are read", "parley.server.runs.planted_a", "parley.server.config"),
    "room_uses_a_foreign_repository": Plant(
        "A room's repository", "parley.server.runs.planted_b", "parley.server.billing.repository"
    ),
    "room_knows_arq": Plant("Only the queue", "parley.server.runs.planted_c", "arq"),
}


def lint_imports(checkout: Path) -> subprocess.CompletedProcess[str]:
    """Run the import checks on a checkout, its own source before any installed one."""
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout / "src"), "COLUMNS": "400"},
        capture_output=True,
        text=True,
        check=False,
    )


def copy_of_the_checkout(target: Path) -> Path:
    """Copy what the import checks read."""
    for folder in ("src", "scripts"):
        shutil.copytree(ROOT / folder, target / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", target)
    return target


def plant_module(source: Path, name: str, line: str = "") -> None:
    """Write the module `name`, with every package above it, unless the tree has it."""
    *packages, last = name.split(".")
    folder = source
    for package in packages:
        folder /= package
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").touch()
    file = folder / f"{last}.py"
    if not file.exists() and not (folder / last).exists():
        file.write_text(line)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """What the checks say of a copy with every wrong import in it, and a room that nobody placed."""
    checkout = copy_of_the_checkout(tmp_path_factory.mktemp("planted"))
    for plant in PLANTS.values():
        plant_module(checkout / "src", plant.importer, f"import {plant.imported}\n")
        if plant.imported.startswith("parley."):
            plant_module(checkout / "src", plant.imported)
    plant_module(checkout / "src", "parley.server.unplaced.service")
    return lint_imports(checkout)


def test_imports_of_the_tree_run_one_way(tmp_path: Path) -> None:
    result = lint_imports(copy_of_the_checkout(tmp_path))
    assert result.returncode == 0, result.stdout + result.stderr


def test_wrong_imports_fail_the_check(planted: subprocess.CompletedProcess[str]) -> None:
    assert planted.returncode == 1, planted.stdout + planted.stderr


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_wrong_import_is_named_under_its_contract(
    plant: Plant, planted: subprocess.CompletedProcess[str]
) -> None:
    verdicts, _, reports = planted.stdout.partition("Broken contracts")
    assert any(line.startswith(plant.contract) and " BROKEN" in line for line in verdicts.splitlines())
    assert f"{plant.importer} -> {plant.imported} (l.1)" in reports


def test_room_that_nobody_placed_fails_the_check(planted: subprocess.CompletedProcess[str]) -> None:
    assert "- parley.server.unplaced" in planted.stdout


def test_engine_needs_the_standard_library_pydantic_and_what_its_checks_and_its_yaml_reader_need() -> None:
    graph = grimp.build_graph("parley", include_external_packages=True, cache_dir=None)
    engine = {"parley.engine", *graph.find_descendants("parley.engine")}
    checks = graph.find_descendants("parley.engine.checks")

    def outside(modules: set[str]) -> set[str]:
        imported = {name for module in modules for name in graph.find_modules_directly_imported_by(module)}
        return {name.partition(".")[0] for name in imported} - {"parley"} - sys.stdlib_module_names

    reader = {"parley.engine.strictyaml"}
    assert outside(engine - checks - reader) <= {"pydantic", "pydantic_core"}
    assert outside(reader) == {"yaml"}
    assert outside(checks) <= {"pydantic", "pydantic_core", "re2", "jsonschema", "referencing"}


def test_engine_quotes_addresses_but_opens_none() -> None:
    """import-linter sees `urllib` as one, so it cannot tell `urllib.parse` from `urllib.request`."""
    sources = (ROOT / "src/parley/engine").rglob("*.py")
    assert [source for source in sources if "urllib.request" in source.read_text()] == []
