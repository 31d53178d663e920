"""JUnit XML: one testcase per case, `failure` for behaviour, `error` for execution. Pure."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from parley.sdk.reporting.sheet import Check, Line, Sheet

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold (2.2, Char)."""


def junit(sheet: Sheet) -> str:
    """A document with a suite of the cases and, where a gate was asked, a suite of its checks."""
    root = Element("testsuites", name="parley")
    _suite(root, sheet.title, [_case(line, sheet.title) for line in sheet.lines])
    if sheet.checks:
        _suite(root, f"{sheet.title}: gate", [_checked(check, sheet.title) for check in sheet.checks])
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(root: Element, name: str, cases: list[Element]) -> None:
    counts = {kind: sum(case.find(kind) is not None for case in cases) for kind in ("failure", "error")}
    suite = SubElement(
        root,
        "testsuite",
        name=_safe(name),
        tests=str(len(cases)),
        failures=str(counts["failure"]),
        errors=str(counts["error"]),
        time=f"{sum(float(case.get('time', '0')) for case in cases):.3f}",
    )
    suite.extend(cases)


def _case(line: Line, group: str) -> Element:
    case = Element("testcase", classname=_safe(group), name=_safe(line.name), time=f"{line.seconds or 0:.3f}")
    if line.mark != "passed":
        rating = "" if line.rating is None else f"rating {line.rating:.2f}"
        _fault(case, "failure" if line.mark == "failed" else "error", rating or line.mark, line.text)
    return case


def _checked(check: Check, group: str) -> Element:
    case = Element("testcase", classname=f"{_safe(group)}.gate", name=_safe(check.name), time="0.000")
    if check.passed is not True:
        kind = "failure" if check.passed is False else "error"
        _fault(case, kind, check.text or "could not be decided", check.text)
    return case


def _fault(case: Element, kind: str, message: str, text: str) -> None:
    fault = SubElement(case, kind, message=_safe(message), type=kind)
    fault.text = _safe(text)


def _safe(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
