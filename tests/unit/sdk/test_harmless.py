"""What others wrote, in the terminal and in a pipeline's log."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

import parley.sdk
from parley.sdk.cli.ending import say, tell, tell_json
from parley.sdk.cli.live import Live
from parley.sdk.events import Content, MessageEnded, MessageStarted
from parley.sdk.harmless import harmless, json_text, one_line
from parley.sdk.reporting.github import commands
from parley.sdk.reporting.sheet import Line, Sheet
from parley.sdk.reporting.table import drawn

STEERING = "a\x1b]0;title\x07b\x1b[2Jc\x9b1Jd\re\x00f\u202eg\x7fh"
ORDER = "::set-output name=passed::true"
OLD_ORDER = "##[set-output name=passed;]true"


def test_nothing_steers_the_terminal() -> None:
    assert harmless(STEERING) == "a]0;titleb[2Jc1Jdefgh"
    assert harmless("two\n\tlines") == "two\n\tlines"
    assert one_line("x\n\x1b[2Jy\u2028z") == "x [2Jy z"


def test_half_a_character_can_be_printed() -> None:
    assert harmless("a\ud800b").encode() == b"a?b"


@pytest.mark.parametrize("order", [ORDER, f"text {OLD_ORDER}", f"word{ORDER}", ":::" + ORDER])
def test_within_github_actions_it_holds_no_command(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    assert harmless(order) == order
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    shown = harmless(order)
    assert "::" not in shown
    assert "##[" not in shown
    assert shown.replace("\N{ZERO WIDTH SPACE}", "") == order


def test_json_means_the_same_and_holds_no_command() -> None:
    content = {"said": [STEERING, ORDER, OLD_ORDER]}
    text = json_text(content)
    assert json.loads(text) == content
    assert text.isascii()
    assert "##[" not in text
    assert all(line.isprintable() and not line.lstrip().startswith("::") for line in text.splitlines())


@pytest.mark.parametrize("width", [30, 80])
def test_a_conversation_cannot_speak_to_the_runner(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    page = io.StringIO()
    live = Live(Console(file=page, width=width, color_system=None))
    for event in (
        MessageStarted("assistant"),
        Content("assistant", "Sure.\n:"),
        Content("assistant", f":stop-commands::x\n  {ORDER} #"),
        Content("assistant", f"#[error]x {STEERING}\ud800"),
        MessageEnded("assistant"),
    ):
        live.show(event)
    shown = page.getvalue()
    shown.encode()
    assert not any(line.lstrip().startswith("::") for line in shown.splitlines())
    assert "##[" not in shown
    assert not set(shown) & set("\x1b\x07\x9b\r\x00\u202e\x7f")


def test_a_report_cannot_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    name = "x" * 20 + ORDER + STEERING
    sheet = Sheet(title=name, verdict="failed", lines=[Line(name=name, mark="failed", text=name)])
    page = io.StringIO()
    Console(file=page, width=40, color_system=None).print(drawn(sheet))
    assert not any(line.lstrip().startswith("::") for line in page.getvalue().splitlines())
    assert not set(page.getvalue()) & set("\x1b\x07\x9b\r\x00\u202e\x7f")
    told = list(commands(sheet))
    assert len(told) == 1
    assert told[0].isprintable()


def test_lines_are_told_without_what_steers(capsys: pytest.CaptureFixture[str]) -> None:
    tell(STEERING)
    say(STEERING)
    tell_json(STEERING)
    shown = capsys.readouterr()
    assert not set(shown.out + shown.err) & set("\x1b\x07\x9b\r\x00\u202e\x7f")


def test_every_line_of_the_commands_goes_this_way() -> None:
    # `publish` writes commands to the runner itself, and the version is our own word.
    known = {"cli/ending.py", "cli/publish.py", "cli/__init__.py"}
    folder = Path(parley.sdk.__file__).parent
    echoing = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.py")
        if "typer.echo(" in path.read_text(encoding="utf-8")
    }
    assert echoing == known
