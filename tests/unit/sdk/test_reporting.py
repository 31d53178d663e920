from __future__ import annotations

import io
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from parley.sdk.reporting.github import MOST, commands
from parley.sdk.reporting.junit import junit
from parley.sdk.reporting.markdown import MOST_LINES, markdown
from parley.sdk.reporting.sheet import Check, Line, Mark, Sheet, plain_verdict
from parley.sdk.reporting.table import drawn
from parley.sdk.verdicts import Evaluation

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


def sheet(*lines: Line, checks: tuple[Check, ...] = (), verdict: str = "failed") -> Sheet:
    return Sheet(title="Support", verdict=verdict, lines=lines, checks=checks)  # type: ignore[arg-type]


@given(name=ANY_TEXT, text=ANY_TEXT)
def test_junit_is_xml_whatever_was_said(name: str, text: str) -> None:
    [suite] = ElementTree.fromstring(junit(sheet(Line(name=name, mark="failed", text=text))))
    assert len(suite) == 1


def test_junit_tells_behaviour_from_execution() -> None:
    lines = [
        Line(name="a", mark="passed", rating=9, seconds=1.25),
        Line(name="b", mark="failed", rating=2, text="It lied."),
        Line(name="c", mark="error", text="The judge could not be read."),
    ]
    check = Check(name="significance", passed=None, text="Too few pairs.")
    cases, gate = ElementTree.fromstring(junit(sheet(*lines, checks=(check,))))
    assert [[child.tag for child in case] for case in cases] == [[], ["failure"], ["error"]]
    assert [case.get("time") for case in cases] == ["1.250", "0.000", "0.000"]
    assert (cases[1][0].get("message"), cases[1][0].text) == ("rating 2.00", "It lied.")
    assert gate[0][0].tag == "error"


@given(text=ANY_TEXT)
def test_markdown_keeps_a_row_a_row_whatever_was_said(text: str) -> None:
    rows = markdown(sheet(Line(name="case", mark="failed", text=text))).split("\n")
    [row] = [line for line in rows if line.startswith("| ❌")]
    assert len(re.findall(r"(?<!\\)\|", re.sub(r"\\\\", "", row))) == 5
    assert "<" not in row


@pytest.mark.parametrize(
    "text", ["[x](javascript:a)", "![i](http://a/b)", "@someone", "`code`", "see #12", "http://a.b"]
)
def test_markdown_renders_nothing_that_others_wrote(text: str) -> None:
    shown = markdown(sheet(Line(name="case", mark="failed", text=text)))
    assert text not in shown


def test_markdown_shows_the_worst_when_there_are_many() -> None:
    many = [Line(name=f"good {n}", mark="passed") for n in range(MOST_LINES)]
    shown = markdown(sheet(*many, Line(name="bad", mark="failed"), Line(name="worse", mark="error")))
    assert "bad" in shown
    assert "worse" in shown
    assert "2 more are not shown." in shown


def test_annotations_are_one_line_each_and_bounded() -> None:
    lines = [Line(name=f"a,b:{n}", mark="failed", text="100%\nsure\r::set-env") for n in range(30)]
    found = list(commands(sheet(*lines)))
    assert len(found) == MOST
    assert found[0] == "::error title=parley%3A a%2Cb%3A0::100%25%0Asure%0D::set-env"
    warned = list(commands(sheet(lines[0], verdict="passed")))
    assert warned[0].startswith("::warning ")


def test_the_table_cannot_steer_the_terminal() -> None:
    page = io.StringIO()
    line = Line(name="\x1b[2Ja [bold]b[/bold]", mark="failed", text="x\n\x07y", rating=2)
    Console(file=page, width=100, color_system=None).print(drawn(sheet(line)))
    assert "[2Ja [bold]b[/bold]" in page.getvalue()
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", page.getvalue())


@pytest.mark.parametrize(
    ("marks", "state", "verdict"),
    [
        (["passed", "passed"], "completed", "passed"),
        (["passed", "failed", "error"], "completed", "failed"),
        (["passed", "error"], "completed", "inconclusive"),
        (["passed"], "cancelled", "inconclusive"),
        (["failed"], "cancelled", "failed"),
        ([], "completed", "inconclusive"),
    ],
)
def test_without_a_gate_everything_has_to_pass(marks: list[Mark], state: str, verdict: str) -> None:
    evaluation = Evaluation(id="e", kind="simulated", state=state, created_at="2026-11-30T10:00:00Z")  # type: ignore[arg-type]
    assert plain_verdict(evaluation, [Line(name="x", mark=mark) for mark in marks]) == verdict
