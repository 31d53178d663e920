import subprocess
import sys

import pytest

from parley.sdk import trials

pytest_plugins = ["pytester"]


@pytest.mark.parametrize(
    "words",
    ["", 'test="x", repetitions=0', 'test="x", min_pass_rate=80', "test=3", 'tset="x"', '"x"'],
)
def test_a_marker_that_makes_no_sense_is_refused_before_anything_runs(
    pytester: pytest.Pytester, words: str
) -> None:
    pytester.makepyfile(f"import pytest\n\n@pytest.mark.parley({words})\ndef test_it(): ...\n")
    ran = pytester.runpytest_inprocess(
        "-p", "no:cacheprovider", "-o", "asyncio_default_fixture_loop_scope=function"
    )
    assert ran.ret != 0
    told = ran.stdout.str() + ran.stderr.str()
    assert "@pytest.mark.parley takes test=" in told
    assert "1 passed" not in told


@pytest.mark.parametrize("step", ["run_repeatedly", "Trials.require_pass_rate"])
def test_words_of_others_do_not_steer_the_terminal(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    monkeypatch.setenv("PARLEY_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("PARLEY_API_KEY", "sk-par-test")
    ended = trials.Trials(test_name="x", runs=[])

    def said(*_: object) -> object:
        raise (trials.Undecided if step == "run_repeatedly" else AssertionError)("no \x1b[2J way")

    monkeypatch.setattr(trials, "run_repeatedly", lambda *_: ended)
    monkeypatch.setattr(trials.Trials, "require_coverage", lambda *_: None)
    monkeypatch.setattr(f"parley.sdk.trials.{step}", said)
    pytester.makepyfile("import pytest\n\n@pytest.mark.parley(test='x')\ndef test_it(): ...\n")
    ran = pytester.runpytest_inprocess(
        "-p", "no:cacheprovider", "-o", "asyncio_default_fixture_loop_scope=function", "--color=no"
    )
    assert "no [2J way" in ran.stdout.str()
    assert "\x1b" not in ran.stdout.str() + ran.stderr.str()


def test_the_plugin_costs_nothing_where_nobody_uses_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import sys\n\ndef test_it():\n"
        "    assert 'parley.sdk.pytest_plugin' in sys.modules\n"
        "    heavy = {'httpx', 'pydantic', 'rich', 'typer', 'yaml', 'parley.sdk.client'}\n"
        "    assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "parley.sdk.pytest_plugin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
        cwd=pytester.path,
    )
    assert ran.returncode == 0, ran.stdout


def test_the_distribution_offers_the_plugin() -> None:
    from importlib.metadata import entry_points

    [offered] = entry_points(group="pytest11", name="parley")
    assert offered.value == "parley.sdk.pytest_plugin"
