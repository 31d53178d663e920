import importlib.metadata
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from parley.sdk.cli import build_app
from parley.server.config import ApiSettings
from parley.server.errors import DatabaseAway, NotFound
from parley.server.ops.plain_errors import sentence_of

COMMANDS = [
    "dev",
    "api",
    "worker",
    "migrate",
    "accounts create",
    "accounts retention",
    "keys create",
    "retention",
    "doctor",
]


def invoke(*words: str, **environment: str) -> tuple[int, str]:
    result = CliRunner().invoke(
        build_app(), list(words), env={"COLUMNS": "100", "NO_COLOR": "1", **environment}
    )
    return result.exit_code, result.output


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_an_example(command: str) -> None:
    code, text = invoke(*command.split(), "--help")
    assert code == 0
    assert "Example" in text
    assert f"parley {command}" in text


def test_the_list_of_commands_names_each_of_them() -> None:
    code, text = invoke("--help")
    assert code == 0
    for command in COMMANDS:
        assert re.search(rf"│ {command.split()[0]} ", text)


def test_version_is_that_of_the_distribution() -> None:
    assert invoke("--version") == (0, f"parley {importlib.metadata.version('parley-evals')}\n")


def test_importing_the_light_command_imports_nothing_of_the_server() -> None:
    script = "import parley.sdk.cli, sys; print([m for m in sys.modules if m.startswith('parley.server')])"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_help_needs_no_driver_and_no_framework() -> None:
    script = (
        "import sys, contextlib, parley.sdk.cli as cli\n"
        "with contextlib.suppress(SystemExit): sys.argv = ['parley', '--help']; cli.main()\n"
        "print(sorted({'sqlalchemy', 'fastapi', 'asyncpg', 'redis', 'aiohttp'} & set(sys.modules)))"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[-1] == "[]"


def test_without_the_server_extra_a_command_says_how_to_install_it() -> None:
    script = (
        "import sys, parley.sdk.cli as cli\n"
        "sys.modules['asyncpg'] = None\n"
        "sys.argv = ['parley', 'migrate']; cli.main()"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "pip install 'parley-evals[local]'" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_wrong_setting_is_named_with_its_variable() -> None:
    code, text = invoke("doctor", PARLEY_API_PORT="99999")
    assert code == 2
    assert "PARLEY_API_PORT: must be at most 65535" in text


def test_a_blank_name_is_refused_before_anything_is_opened() -> None:
    assert invoke("accounts", "create", "   ") == (2, "A name has 1 to 200 characters, and can be seen.\n")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (NotFound("There is no such account."), "There is no such account."),
        (DatabaseAway(), "The database does not answer; check PARLEY_DATABASE_URL, and ask `parley doctor`."),
        (KeyError("ours"), None),
    ],
)
def test_expected_faults_are_one_sentence_and_ours_keep_their_traceback(
    error: Exception, sentence: str | None
) -> None:
    assert sentence_of(error) == sentence


def test_several_wrong_settings_are_all_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARLEY_API_PORT", "x")
    monkeypatch.setenv("PARLEY_API_QUERY_KEY", "perhaps")
    with pytest.raises(ValueError, match="2 validation errors") as caught:
        ApiSettings()
    sentence = sentence_of(caught.value)
    assert sentence is not None
    assert "PARLEY_API_PORT" in sentence
    assert "PARLEY_API_QUERY_KEY" in sentence
