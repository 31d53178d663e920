"""What is written down about the project keeps step with the project."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])


def package_names(requirements: list[Any]) -> set[str]:
    """The package each requirement names; our own extras and included groups are no packages."""
    names = {re.split(r"[^A-Za-z0-9_.-]", line)[0] for line in requirements if isinstance(line, str)}
    return names - {PROJECT["project"]["name"]}


def direct_dependencies() -> set[str]:
    project = PROJECT["project"]
    lists = [
        project["dependencies"],
        *project["optional-dependencies"].values(),
        *PROJECT["dependency-groups"].values(),
    ]
    return {name for requirements in lists for name in package_names(requirements)}


def makefile_targets() -> dict[str, str]:
    """Every target a person can name, with its help text, empty when it has none."""
    lines = re.findall(r"^([a-z][a-z-]*):(?!=)(.*)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    return {target: rest.partition("## ")[2].strip() for target, rest in lines}


def make_commands(text: str) -> set[str]:
    """The targets that a page tells its reader to run, in code."""
    code = re.findall(r"```.*?```|`[^`\n]+`", text, flags=re.DOTALL)
    return {target for part in code for target in re.findall(r"(?:^|[\n` =\d])make ([a-z][a-z-]*)", part)}


def test_every_direct_dependency_has_its_reason_and_no_other_is_listed() -> None:
    page = (ROOT / "docs/dependencies.md").read_text()
    reasons = dict(re.findall(r"^\| `([^`]+)` \| (\S.*) \|$", page, flags=re.MULTILINE))
    assert set(reasons) == direct_dependencies()


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_locks_name_no_index_and_no_place_on_a_machine(lock: Path) -> None:
    pinned = re.compile(r"[a-z0-9][a-z0-9._-]*(\[[a-z0-9,-]+\])?==\S+( ; .+)? \\")
    kinds = (pinned, re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?"), re.compile(r" *#.*"))
    strangers = [
        line for line in lock.read_text().splitlines() if not any(kind.fullmatch(line) for kind in kinds)
    ]
    assert strangers == []
    assert not re.search(r"://|/opt/|/tmp/|/home/|/root/|/work/", lock.read_text())


def test_every_direct_dependency_is_locked_for_contributors() -> None:
    locked = set(
        re.findall(r"^([a-z0-9._-]+)", (ROOT / "requirements/dev.lock").read_text(), flags=re.MULTILINE)
    )
    assert direct_dependencies() <= locked


def test_image_and_checkout_run_the_same_versions() -> None:
    pins = [
        dict(re.findall(r"^([a-z0-9._-]+)\S*?==(\S+)", lock.read_text(), flags=re.MULTILINE))
        for lock in LOCKS
    ]
    for name in set().union(*pins):
        assert len({versions[name] for versions in pins if name in versions}) == 1, name


def test_every_make_target_has_a_help_text() -> None:
    targets = makefile_targets()
    assert {"help", "demo", "dev", "test", "check", "bench", "migration"} <= set(targets)
    assert [target for target, text in targets.items() if not text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_names_only_make_targets_that_exist(page: Path) -> None:
    assert make_commands(page.read_text()) <= set(makefile_targets())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (page.parent / link).exists()] == []


def test_every_decision_has_its_own_number_a_heading_and_a_status() -> None:
    pages = sorted((ROOT / "docs/decisions").glob("[0-9]*.md"))
    numbers = [page.name[:4] for page in pages]
    assert numbers == [f"{number:04d}" for number in range(1, len(pages) + 1)]
    for page in pages:
        form = rf"# {page.name[:4]}: .+\n\nStatus: (accepted|superseded by \d{{4}})\n"
        assert re.match(form, page.read_text()), page.name
